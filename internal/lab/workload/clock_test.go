package workload

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
)

// clocked is a machine with a clock of a rate.
type clocked struct {
	machine.Machine
	rate float64
}

func (c clocked) ClockRate() float64 { return c.rate }

// fast is a flow from a machine whose clock runs ten times as fast.
func fast(protocol plan.Protocol) *flow {
	f := &flow{Session: &Session{}, from: clocked{rate: 10}, to: machine.NewNamespace("server", "", netip.Addr{})}
	f.options.setDefaults()
	f.Flow.Protocol = protocol
	f.Flow.Parallel = 1
	f.Flow.Rate = 20e6
	return f
}

// after returns the argument behind an option.
func after(args []string, option string) string {
	if i := slices.Index(args, option); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

func TestProgramsAreToldTimesByTheirMachinesClock(t *testing.T) {
	args := fast(plan.TCP).iperfArgs(10 * time.Second)
	for option, want := range map[string]string{
		"--interval": "10", "--connect-timeout": "100000", "--time": "36100", "--bitrate": "2000000",
	} {
		if got := after(args, option); got != want {
			t.Errorf("iperf3 %s %s, want %s", option, got, want)
		}
	}
	curl, err := fast(plan.HTTPPut).httpArgs(2 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for option, want := range map[string]string{"--connect-timeout": "100.000", "--max-time": "20.000"} {
		if got := after(curl, option); got != want {
			t.Errorf("curl %s %s, want %s", option, got, want)
		}
	}
	if args := fast(plan.TCP).iperfArgs(1000 * time.Hour); after(args, "--time") != "86400" {
		t.Errorf("iperf3 is to run for %s s, which it refuses", after(args, "--time"))
	}
}

func TestReportsAreInRealTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "curl")
	report := "0 1 40000 0.500000 4.000000 1000 0 \n"
	if err := os.WriteFile(path, []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	reports, _, err := fast(plan.Transfers).readCurl(path)
	if err != nil || len(reports) != 1 || reports[0].ConnectTime != 0.05 || reports[0].TotalTime != 0.4 {
		t.Errorf("curl reports %+v, %v", reports, err)
	}
	client, err := parseIperf([]byte(`{"end": {"streams": [
		{"sender": {"start": 10, "end": 20, "bytes": 7, "jitter_ms": 30}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	client.toRealTime(10)
	if s := client.End.Streams[0].Sender; s.Start != 1 || s.End != 2 || s.Bytes != 7 || s.JitterMs != 3 {
		t.Errorf("iperf3 reports %+v", s)
	}
}

func TestAMachineWithoutAClockOfItsOwn(t *testing.T) {
	f := fast(plan.TCP)
	f.from = machine.NewNamespace("phone", "", netip.Addr{})
	args := f.iperfArgs(10 * time.Second)
	if got := strings.Join(
		[]string{after(args, "--interval"), after(args, "--time"), after(args, "--bitrate")}, " ",
	); got != "1 3610 20000000" {
		t.Errorf("iperf3 is told %s", got)
	}
}
