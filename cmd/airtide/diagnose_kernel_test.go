//go:build kernel

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/diagnose"
	"airtide/test/cause"
	"airtide/test/need"
	"airtide/test/testnet"
)

// mustRecord records a situation, up to four times if the machine is too busy for the cell.
func mustRecord(t *testing.T, s *cause.Situation, programs cause.Programs, path string) {
	t.Helper()
	err := s.Record(t.Context(), programs, path)
	for tries := 1; errors.Is(err, cause.ErrBusy) && tries < 4; tries++ {
		err = s.Record(t.Context(), programs, path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Sixteen frequent situations, each built with its cause: info must name it, at the end that the
// situation is recorded at.
func TestInfoNamesTheLimitOfKnownSituations(t *testing.T) {
	need.Root(t)
	programs, err := cause.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range cause.First {
		s := &cause.First[i]
		t.Run(s.Name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "situation.atr")
			mustRecord(t, s, programs, path)
			for _, end := range []struct {
				network string
				want    []string
			}{{"10.1.0.1", s.Limits}, {"10.2.0.1", s.Receiver}} {
				if s.Plan.Down {
					end.network = map[string]string{"10.1.0.1": "10.2.0.1", "10.2.0.1": "10.1.0.1"}[end.network]
				}
				if len(end.want) > 0 {
					limitIs(t, path, end.network, end.want[0])
				}
			}
		})
	}
}

// The radio of an emulated cell is recorded beside TCP, and a radio whose rate falls is named.
func TestTheRadioOfACellIsDiagnosed(t *testing.T) {
	need.Root(t)
	programs, err := cause.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	suite := cause.Suite(1)
	at := slices.IndexFunc(suite, func(s cause.Situation) bool { return s.Name == "radio-rate-fell" })
	path := filepath.Join(t.TempDir(), "situation.atr")
	mustRecord(t, &suite[at], programs, path)
	for _, file := range []string{path, path + cause.PolledSuffix} {
		text := mustRun(t, "diagnose", file)
		if !strings.Contains(text, "tx_rate_bps: the PHY rate was ") || !strings.Contains(text, " s: radio (") {
			t.Errorf("the radio is not named in %s", text)
		}
		if text := mustRun(t, "info", file); !strings.Contains(text, "client in cause at 02:00:00:00:00:01, sent at ") {
			t.Errorf("info does not sum the radio up: %s", text)
		}
	}
}

// sharedCell has two terminals, of which far has twelve times the RTT, or the faster radio.
const sharedCell = "name: shared\nterminals:\n  near: {%s, congestion: reno}\n  far: {%s, congestion: reno}\n" +
	"servers: {server: {congestion: reno}}\npath: {rate: 20 Mbit/s, rtt: 20 ms, queue: 100 kB, " +
	"terminals: {far: {rtt: %d ms}}}\n"

// Of two senders in one recording, the one with the longer RTT, or with the faster radio, gets less
// than its part of the rate or of the airtime. So it is named, and the other is not.
func TestUnequalSharesAreNamed(t *testing.T) {
	need.Root(t)
	need.Tool(t, "iperf3")
	programs, err := cause.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const station = "radio: {standard: n, phy_rate: %s Mbit/s, queue: 100 packets, aggregation: {frames: 1}}"
	for name, c := range map[string]struct{ text, field string }{
		"RTT": {fmt.Sprintf(sharedCell, "link: ethernet", "link: ethernet", 240), "min_rtt_us"},
		"airtime": {
			fmt.Sprintf(sharedCell, fmt.Sprintf(station, "6.5"), fmt.Sprintf(station, "65"), 20), "tx_rate_bps",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cell := filepath.Join(t.TempDir(), "cell.yaml")
			path := filepath.Join(t.TempDir(), "shared.atr")
			if err := os.WriteFile(cell, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			const script = `set -e
ip netns exec $AIRTIDE_NS_server iperf3 -s -1 -D -p 5201
ip netns exec $AIRTIDE_NS_server iperf3 -s -1 -D -p 5202
until ip netns exec $AIRTIDE_NS_server ss -tln | grep -q :5202; do sleep 0.1; done
"$0" record -f --with radio -o "$1" --netns $AIRTIDE_NS_near,$AIRTIDE_NS_far -- sh -c '
	ip netns exec $AIRTIDE_NS_near iperf3 -c $AIRTIDE_IP_server -p 5201 -t 12 -C reno &
	ip netns exec $AIRTIDE_NS_far iperf3 -c $AIRTIDE_IP_server -p 5202 -t 12 -C reno
	wait'
`
			run := exec.CommandContext(t.Context(), programs.Airtide, "cell", "run", cell, "--", "sh", "-c", script,
				programs.Airtide, path)
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			senders := 0
			for _, x := range diagnosed(t, path) {
				if x.AckedBytes < 1e6 {
					continue
				}
				senders++
				far := x.Remote.Port() == 5202
				said := slices.ContainsFunc(x.Evidence, func(e diagnose.Evidence) bool { return e.Field == c.field })
				if (x.Limit == diagnose.UnfairSharing) != far || far && !said {
					t.Errorf("the far one %t: %s, %v", far, x.Limit, x.Evidence)
				}
			}
			if senders != 2 {
				t.Errorf("%d connections send", senders)
			}
		})
	}
}

// A link of the path loses full segments and sends no ICMP. Short ones pass.
func TestABlackHoleForFullSegmentsIsNamed(t *testing.T) {
	need.Root(t)
	n := testnet.New(t, testnet.Options{Segments: true})
	for _, args := range [][]string{
		{"link", "set", "eth0", "mtu", "1200"},
		{"route", "replace", n.Client.V4.String() + "/32", "dev", "eth0", "advmss", "1460"},
	} {
		if out, err := n.Server.Run("ip", args...); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	_, path := recordWith(t, n, "handshake", func() {
		client, server := n.Connect(testnet.Dial{})
		testnet.MustSend(t, client, server, 300)
		if _, err := client.Write(make([]byte, 50_000)); err != nil {
			t.Fatal(err)
		}
		testnet.Eventually(t, 20*time.Second, "timeouts", func() bool { return resent(t, client) >= 5 })
	})
	for _, c := range diagnosed(t, path) {
		if c.Direction == "sends" && c.Limit != diagnose.PathMTU {
			t.Errorf("%s, shares %v: %v", c.Limit, c.Shares, c.Evidence)
		}
	}
	if text := mustRun(t, "info", path); !strings.Contains(text, "path MTU") {
		t.Errorf("info:\n%s", text)
	}
}

// limitIs compares the limit of the flow of an address, as info prints it, with the alternatives.
func limitIs(t *testing.T, path, address, want string) {
	t.Helper()
	var r struct {
		Flows []struct {
			Flow  uint
			Local string
			Limit string
		}
	}
	if err := json.Unmarshal([]byte(mustRun(t, "info", "--json", path)), &r); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range r.Flows {
		if !strings.HasPrefix(f.Local, address) || found {
			continue
		}
		found = true
		if !slices.Contains(strings.Split(want, "|"), f.Limit) {
			t.Errorf("info: the limit at %s is %q, want %q\n%s", address, f.Limit, want, mustRun(t, "diagnose", path))
		}
	}
	if !found {
		t.Errorf("info shows no flow of %s: %+v", address, r)
	}
	if text := mustRun(t, "info", path); !strings.Contains(text, strings.Split(want, "|")[0]+" ") {
		t.Errorf("info prints no %q\n%s", want, text)
	}
}

// A command is observed without a file, and its exit status is passed on. With -o the recording is
// kept.
func TestDiagnoseExplainsTheConnectionsOfACommand(t *testing.T) {
	for _, source := range []string{"bpf", "diag"} {
		t.Run(source, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kept.atr")
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			script := self + "=transfer " + exe + "; exit 7"
			stdout, stderr, status := run(t, "diagnose", "--source", source, "-o", path, "--", "sh", "-c", script)
			if status != 7 || !strings.Contains(stdout, "limited by application") {
				t.Errorf("status %d, want 7 and the limit application: %s%s", status, stdout, stderr)
			}
			doubt := strings.Contains(stdout, "less certain: the source polls")
			if polls := source == "diag"; doubt != polls {
				t.Errorf("it doubts a polling source: %t\n%s", doubt, stdout)
			}
			if r := info(t, path); r.Totals.Flows != 2 {
				t.Errorf("the kept recording has %d flows, want both ends", r.Totals.Flows)
			}
		})
	}
}

// The first answer comes within 3 s, and Ctrl-C ends with a last one.
func TestDiagnoseLiveAnswersWhileConnectionsLast(t *testing.T) {
	stop := make(chan bool)
	go busyTraffic(stop)
	defer close(stop)
	cmd := airtide("diagnose", "--live", "--json", "--host", "127.0.0.1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	answers := json.NewDecoder(out)
	for range 2 {
		var answer struct {
			Connections []struct {
				Limit  string
				Shares []struct{ Share float64 }
			}
		}
		if err := answers.Decode(&answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Connections) == 0 || answer.Connections[0].Limit == "" {
			t.Errorf("the answer has no limit: %+v", answer)
		}
	}
	_ = cmd.Process.Signal(os.Interrupt)
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
}
