//go:build kernel

package workload

import (
	"bufio"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
	"airtide/internal/sys/leftover"
	"airtide/test/testnet"
)

// begin runs a session in the background.
func begin(ctx context.Context, s *Session) <-chan []*outcome {
	done := make(chan []*outcome, 1)
	go func() { done <- s.run(ctx, time.Now()) }()
	return done
}

// awaitProgram waits until a number of processes of a program run on a host, and returns their
// PIDs.
func awaitProgram(t *testing.T, h *testnet.Host, program string, count int) (pids []int) {
	t.Helper()
	testnet.Eventually(t, 10*time.Second, fmt.Sprintf("%d %s on %s", count, program, h.Name), func() bool {
		pids = nil
		for _, p := range processesIn(t, h) {
			if pid, name, _ := strings.Cut(p, " "); name == program {
				n, _ := strconv.Atoi(pid)
				pids = append(pids, n)
			}
		}
		return len(pids) >= count
	})
	return pids
}

// established waits until a host has connections to a port. iperf3 has one more for control.
func established(t *testing.T, h *testnet.Host, port, connections int) {
	t.Helper()
	testnet.Eventually(t, 10*time.Second, "a connection", func() bool {
		found := 0
		err := h.Do(func() error {
			f, err := os.Open("/proc/thread-self/net/tcp")
			if err != nil {
				return err
			}
			defer f.Close()
			lines := bufio.NewScanner(f)
			for lines.Scan() {
				fields := strings.Fields(lines.Text())
				if strings.HasSuffix(fields[2], fmt.Sprintf(":%04X", port)) && fields[3] == "01" {
					found++
				}
			}
			return lines.Err()
		})
		return err == nil && found >= connections
	})
}

// connections is the number of connections of a flow.
func connections(f plan.Flow) int {
	if f.Protocol == plan.TCP {
		return 2
	}
	return 1
}

func signal(t *testing.T, pid int, s unix.Signal) {
	t.Helper()
	if err := unix.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

func says(t *testing.T, r *outcome, want ...string) {
	t.Helper()
	if r.Error == "" {
		t.Errorf("%s has no error", r.Name)
	}
	for _, w := range want {
		if !strings.Contains(r.Error, w) {
			t.Errorf("the error of %s, %q, does not say %q", r.Name, r.Error, w)
		}
	}
}

func TestHangingProgramsAreKilledAtTheDeadline(t *testing.T) {
	for _, c := range []struct {
		name    string
		flow    plan.Flow
		program string
		server  bool
		want    []string
	}{
		{
			"iperf3's client",
			plan.Flow{Protocol: plan.TCP},
			"iperf3", false,
			[]string{"iperf3 from phone to server hung", "500ms"},
		},
		{
			"iperf3's server",
			plan.Flow{Protocol: plan.TCP},
			"iperf3", true,
			[]string{"iperf3 on server", "500ms", "killed"},
		},
		{"curl", plan.Flow{Protocol: plan.HTTPPut}, "curl", false, []string{"curl from phone to server hung"}},
		{
			"ping",
			plan.Flow{Protocol: plan.Ping, Interval: plan.Duration(100e6), Length: 56},
			"ping", false,
			[]string{"ping from phone to server hung"},
		},
		{
			"httpd",
			plan.Flow{Protocol: plan.Transfers, Size: 1e9},
			"apache2", true,
			[]string{"curl from phone to server", "not one transfer of 1 GB"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := testnet.New(t, testnet.Options{})
			limit(t, n, 20e6)
			s := prepare(t, []plan.FlowSetup{setup("flow", 1500*time.Millisecond, c.flow)}, machines(n),
				Options{Grace: 500 * time.Millisecond})
			done := begin(t.Context(), s)
			if c.flow.Protocol != plan.Ping {
				established(t, n.Client, FirstPort, connections(c.flow))
			}
			host := n.Client
			if c.server {
				host = n.Server
			}
			for _, pid := range awaitProgram(t, host, c.program, 1) {
				signal(t, pid, unix.SIGSTOP)
			}
			r := (<-done)[0]
			says(t, r, c.want...)
			between(t, "end", r.StopS, 1.4, 8)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			nothingLeft(t, n)
		})
	}
}

func TestProgramsThatDieAreReported(t *testing.T) {
	for _, c := range []struct {
		name    string
		flow    plan.Flow
		program string
		server  bool
		want    []string
	}{
		{
			"iperf3's client",
			plan.Flow{Protocol: plan.TCP},
			"iperf3", false,
			[]string{"iperf3 from phone to server", "signal: killed"},
		},
		{
			"iperf3's server",
			plan.Flow{Protocol: plan.TCP},
			"iperf3", true,
			[]string{"iperf3 from phone to server", "iperf3 on server", "has ended: signal: killed"},
		},
		{
			"curl that uploads",
			plan.Flow{Protocol: plan.HTTPPut},
			"curl", false,
			[]string{"curl from phone to server", "signal: killed"},
		},
		{
			"curl that transfers",
			plan.Flow{Protocol: plan.Transfers, Size: 1e6},
			"curl", false,
			[]string{"curl from phone to server", "signal: killed"},
		},
		{
			"httpd",
			plan.Flow{Protocol: plan.HTTPGet},
			"apache2", true,
			[]string{"curl from phone to server", "httpd on server", "has ended: signal: killed"},
		},
		{
			"ping",
			plan.Flow{Protocol: plan.Ping, Interval: plan.Duration(100e6), Length: 56},
			"ping", false,
			[]string{"ping from phone to server", "signal: killed"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := testnet.New(t, testnet.Options{})
			limit(t, n, 20e6)
			s := prepare(t, []plan.FlowSetup{setup("flow", 30*time.Second, c.flow)}, machines(n), Options{})
			done := begin(t.Context(), s)
			if c.flow.Protocol != plan.Ping {
				established(t, n.Client, FirstPort, connections(c.flow))
			}
			if c.server {
				s.servers[0].process.Signal(unix.SIGKILL)
			} else {
				signal(t, awaitProgram(t, n.Client, c.program, 1)[0], unix.SIGKILL)
			}
			r := (<-done)[0]
			says(t, r, c.want...)
			if r.StopS > 15 {
				t.Errorf("the end of the program was noticed after %g s", r.StopS)
			}
		})
	}
}

func TestUnreachableServersAreNamed(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	s := prepare(t, everyProtocol(), machines(n), Options{ConnectTimeout: 500 * time.Millisecond})
	// Without its address the server does not answer, and no other machine answers in its place.
	for i := range s.flows {
		s.flows[i].to = machine.NewNamespace("server", n.Server.Name, netip.MustParseAddr("10.77.0.99"))
		s.flows[i].Flow.Stop = plan.Duration(1500 * time.Millisecond)
	}
	for _, r := range s.run(t.Context(), time.Now()) {
		says(t, r, "phone could not reach server (10.77.0.99", clients[plan.Protocol(r.Protocol)].Programs[0]+": ")
	}
}

func TestEverythingEndsWithTheContext(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	limit(t, n, 50e6)
	flows := everyProtocol()
	later := setup("later", time.Minute, plan.Flow{Protocol: plan.TCP})
	later.Start = plan.Duration(30e9)
	s := prepare(t, append(flows, later), machines(n), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := begin(ctx, s)
	awaitProgram(t, n.Client, "iperf3", 2)
	awaitProgram(t, n.Client, "curl", 4)
	awaitProgram(t, n.Client, "ping", 1)
	cancel()
	results := <-done
	if left := processesIn(t, n.Client); len(left) > 0 {
		t.Errorf("clients still running: %v", left)
	}
	for _, r := range results {
		if r.Error != errInterrupted.Error() {
			t.Errorf("the error of %s is %q", r.Name, r.Error)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, n)
}

func TestPreparingEndsWithTheContext(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := Prepare(ctx, everyProtocol(), machines(n), Options{Folder: t.TempDir()})
	switch {
	case err == nil: // all were ready at once
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	case !strings.Contains(err.Error(), context.Canceled.Error()):
		t.Errorf("the error is %v", err)
	}
	nothingLeft(t, n)
}

func TestNothingIsLeftWhenThisProcessIsKilled(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	limit(t, n, 50e6)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+n.Client.Name+" "+n.Server.Name+" "+t.TempDir())
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	awaitProgram(t, n.Client, "iperf3", 2)
	awaitProgram(t, n.Client, "curl", 4)
	awaitProgram(t, n.Client, "ping", 1)
	awaitProgram(t, n.Server, "apache2", 2)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	testnet.Eventually(t, 5*time.Second, "everything to be gone", func() bool {
		return len(processesIn(t, n.Client)) == 0 && len(processesIn(t, n.Server)) == 0
	})
	// The next session removes its folder.
	folders := filepath.Join(os.TempDir(), contentPrefix+leftover.Owner(child.Process.Pid)+"-*")
	if left, _ := filepath.Glob(folders); len(left) != 1 {
		t.Errorf("folders of the killed process: %v, want one", left)
	}
	own, err := newContent()
	if err != nil {
		t.Fatal(err)
	}
	defer own.remove()
	if left, _ := filepath.Glob(folders); len(left) != 0 {
		t.Errorf("still there: %v", left)
	}
}
