package cell

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"airtide/internal/cell/engine"
	"airtide/test/testnet"
)

func TestMain(m *testing.M) {
	if engine.IsEngine() {
		os.Exit(engine.Main(Build))
	}
	os.Exit(m.Run())
}

func (c *Cell) host(tb testing.TB, name string) Host {
	tb.Helper()
	for _, h := range c.Hosts() {
		if h.Name == name {
			return h
		}
	}
	tb.Fatalf("the cell has no host %q", name)
	return Host{}
}

// in makes a command in a host's namespace.
func (c *Cell) in(tb testing.TB, host string, command ...string) *exec.Cmd {
	tb.Helper()
	return exec.CommandContext(tb.Context(), "ip",
		append([]string{"netns", "exec", c.host(tb, host).Namespace}, command...)...)
}

func (c *Cell) output(tb testing.TB, host string, command ...string) string {
	tb.Helper()
	cmd := c.in(tb, host, command...)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("%s in %s: %v: %s%s", strings.Join(command, " "), host, err, out, failed.String())
	}
	return string(out)
}

// serve runs an iperf3 server and returns when it listens.
func (c *Cell) serve(tb testing.TB, host string, port int) {
	tb.Helper()
	cmd := c.in(tb, host, "iperf3", "-s", "-p", strconv.Itoa(port), "--forceflush")
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	said := make([]byte, 4096)
	for text := ""; !strings.Contains(text, "Server listening"); {
		n, err := out.Read(said)
		if err != nil {
			tb.Fatalf("iperf3 in %s: %v: %s", host, err, text)
		}
		text += string(said[:n])
	}
	go func() {
		for {
			if _, err := out.Read(said); err != nil {
				return
			}
		}
	}()
}

// keepingUp begins the cell and has it measured, until the engine was in time all along. A machine
// that is too slow or too busy for that says nothing about the cell.
func (c *Cell) keepingUp(tb testing.TB, measure func() *Window) *Window {
	tb.Helper()
	var s *Status
	for range 6 {
		if err := c.Begin(); err != nil {
			tb.Fatal(err)
		}
		w := measure()
		s = c.status(tb)
		if !s.Engine.LagExceeded {
			return w
		}
		tb.Logf("measuring again: %s", s.Engine.Lag.Against(s.Engine.LagLimitNs))
	}
	tb.Skipf("this machine cannot carry so many packets in time: %s", s.Engine.Lag.Against(s.Engine.LagLimitNs))
	return nil
}

// pings returns the round-trip times in ms.
func (c *Cell) pings(tb testing.TB, from string, arguments ...string) []float64 {
	tb.Helper()
	var times []float64
	for _, line := range strings.Split(c.output(tb, from, append([]string{"ping"}, arguments...)...), "\n") {
		if _, rest, ok := strings.Cut(line, "time="); ok {
			ms, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				tb.Fatalf("ping said %q", line)
			}
			times = append(times, ms)
		}
	}
	return times
}

func (c *Cell) status(tb testing.TB) *Status {
	tb.Helper()
	s, err := c.Status()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// iperf3 is the end of its JSON report.
type iperf3 struct {
	End struct {
		Sent     struct{ Bytes int64 } `json:"sum_sent"`
		Received struct {
			Bytes int64
			Mbps  float64 `json:"-"`
			Bps   float64 `json:"bits_per_second"`
		} `json:"sum_received"`
	}
}

// upload sends for some seconds from a terminal, and more arguments.
func (c *Cell) upload(tb testing.TB, from, to string, port int, seconds int, more ...string) iperf3 {
	tb.Helper()
	arguments := append([]string{
		"iperf3", "-c", c.host(tb, to).Address.String(), "-p", strconv.Itoa(port), "-t", strconv.Itoa(seconds), "-J",
	}, more...)
	var result iperf3
	if err := json.Unmarshal([]byte(c.output(tb, from, arguments...)), &result); err != nil {
		tb.Fatalf("iperf3 in %s: %v", from, err)
	}
	return result
}

// during takes statuses at the beginning and the end of a time while something runs.
func (c *Cell) during(tb testing.TB, before, length time.Duration, run func()) *Window {
	tb.Helper()
	done := make(chan struct{})
	var from, to *Status
	go func() {
		defer close(done)
		testnet.Idle(tb, before, "the traffic begins")
		from, _ = c.Status()
		testnet.Idle(tb, length, "the traffic runs")
		to, _ = c.Status()
	}()
	run()
	<-done
	if from == nil || to == nil {
		tb.Fatal("the cell had no status")
	}
	return Between(from, to)
}

func (w *Window) String() string {
	b, err := json.MarshalIndent(w, "", " ")
	return fmt.Sprint(string(b), err)
}
