//go:build kernel

package share

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"airtide/internal/observe/source"
	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/link"
	"airtide/test/testnet"
)

// longEnough is the longest wait for events that take seconds on an idle real machine.
const longEnough = 3 * time.Minute

func bound(s Status) bool { return s.Bounded && len(s.Windows) > 0 && s.Windows[0].Packets > 0 }

// soon is the longest time until bounds end after their reason has ended: the lease or the silence,
// a step, and the growth of a window.
const soon = 1500 * time.Millisecond

// inTime waits for a condition, which must hold within soon.
func inTime(t *testing.T, began time.Time, what string, is func() bool) {
	t.Helper()
	within(t, began, soon, what, is)
}

// within waits for a condition, which must hold within a limit. The limit does not count the delays
// of this process on a busy machine, and does not hold in emulated machines. Their tests are
// short (test/bench/kernels).
func within(t *testing.T, began time.Time, limit time.Duration, what string, is func() bool) {
	t.Helper()
	late, holds := testnet.Lateness(longEnough, 8*time.Millisecond, is)
	if !holds {
		t.Fatalf("waited %s in vain for %s", longEnough, what)
	}
	judge(t, time.Since(began), late, limit, what)
}

// judge compares a time, without the delays of a busy machine, with a limit.
func judge(t *testing.T, took, late, limit time.Duration, what string) {
	t.Helper()
	took -= min(late, took)
	t.Logf("%s after %s, without delays of %s",
		what, took.Round(10*time.Millisecond), late.Round(10*time.Millisecond))
	if took > limit && !testing.Short() {
		t.Errorf("%s after %s, want %s at most", what, took.Round(10*time.Millisecond), limit)
	}
}

// waited returns how long the threads of this process have waited for a processor, in sum.
func waited(t *testing.T) (sum time.Duration) {
	t.Helper()
	threads, err := filepath.Glob("/proc/self/task/*/schedstat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		var ran, waits int64
		if err == nil { // else the thread has ended
			_, _ = fmt.Sscan(string(text), &ran, &waits)
		}
		sum += time.Duration(waits)
	}
	return sum
}

// freed waits until a flow has a greater window than its bound allowed.
func freed(t *testing.T, began time.Time, why string, window func() uint32) {
	t.Helper()
	inTime(t, began, why+": a window beyond the bound", func() bool { return window() > unboundWindow })
}

// After an agent was killed, the kernel lifts the bounds and the transfer continues. The next agent
// removes the rest.
func TestBoundsOfAKilledAgentEnd(t *testing.T) {
	n, client, _ := narrow(t)
	key := cellkey.New()
	killed := runChild(t, n.Client, order{key.Text(), control.Shares, lowRate}, nil)
	run(t, n.Server, Config{Key: key, Policy: control.Observe, MaxBps: lowRate})
	window := func() uint32 { return testnet.Info(t, client).Snd_cwnd }
	testnet.Eventually(t, longEnough, "a bound", func() bool {
		return bound(killed.now()) && window() <= killed.now().Windows[0].Packets+1
	})
	acked := testnet.Info(t, client).Bytes_acked
	began := time.Now()
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-killed.ended
	freed(t, began, "killed", window)
	testnet.Eventually(t, longEnough, "the transfer to continue", func() bool {
		return testnet.Info(t, client).Bytes_acked > acked+1e6
	})
	if testing.Short() {
		return // another agent takes half a minute to begin in an emulated machine
	}
	next := run(t, n.Client, Config{Key: key, Policy: control.Shares, MaxBps: lowRate})
	testnet.Eventually(t, longEnough, "the next agent's bound", func() bool { return bound(next.now()) })
	next.end(t)
	if cc := testnet.CongestionControl(t, client); cc != "reno" {
		t.Errorf("congestion control after the next agent: got %s, want reno", cc)
	}
}

// An agent is stopped and continues later.
func TestBoundsOfAStoppedAgentEnd(t *testing.T) {
	n, client, _ := narrow(t)
	key := cellkey.New()
	stopped := runChild(t, n.Client, order{key.Text(), control.Shares, lowRate}, nil)
	run(t, n.Server, Config{Key: key, Policy: control.Observe, MaxBps: lowRate})
	window := func() uint32 { return testnet.Info(t, client).Snd_cwnd }
	held := func() bool { return bound(stopped.now()) && window() <= stopped.now().Windows[0].Packets+1 }
	testnet.Eventually(t, longEnough, "a bound", held)
	began := time.Now()
	if err := stopped.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	freed(t, began, "stopped", window)
	if err := stopped.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, longEnough, "the bound to come back", held)
}

// The only other terminal is stopped and returns.
func TestSilenceEndsBounds(t *testing.T) {
	n, client, _ := narrow(t)
	key := cellkey.New()
	a := run(t, n.Client, Config{Key: key, Policy: control.Shares, MaxBps: lowRate})
	silent := runChild(t, n.Server, order{key.Text(), control.Observe, lowRate}, nil)
	testnet.Eventually(t, longEnough, "a bound", func() bool { return bound(a.now()) })
	began := time.Now()
	if err := silent.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	inTime(t, began, "no bounds", func() bool { s := a.now(); return !s.Bounded && len(s.Windows) == 0 })
	if why := a.now().Reason; !strings.Contains(why, "heard") && !strings.Contains(why, "silence limit") {
		t.Errorf("reason: got %q, want the silence of the other terminal", why)
	}
	freed(t, began, "peers silent", func() uint32 { return testnet.Info(t, client).Snd_cwnd })
	if err := silent.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, longEnough, "the bound to come back", func() bool { return bound(a.now()) })
}

// The interface is set down and up. The agent lifts its bounds and shares again later.
func TestAnAgentSurvivesALossOfTheNetwork(t *testing.T) {
	n, _, _ := narrow(t)
	key := cellkey.New()
	a := run(t, n.Client, Config{Key: key, Policy: control.Shares, MaxBps: lowRate})
	b := run(t, n.Server, Config{Key: key, Policy: control.Observe, MaxBps: lowRate})
	testnet.Eventually(t, longEnough, "a bound", func() bool { return bound(a.now()) })
	began := time.Now()
	if _, err := n.Client.Run("ip", "link", "set", "eth0", "down"); err != nil {
		t.Fatal(err)
	}
	inTime(t, began, "no bounds", func() bool { return !a.now().Bounded && len(a.now().Windows) == 0 })
	testnet.Eventually(t, longEnough, "the other to miss it", func() bool { return len(b.now().Peers) == 0 })
	if _, err := n.Client.Run("ip", "link", "set", "eth0", "up"); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, longEnough, "the bound to come back", func() bool { return bound(a.now()) })
	testnet.Eventually(t, longEnough, "the other to hear it", func() bool { return len(b.now().Peers) == 1 })
}

// Two agents of a terminal would bound the same flows. The first continues. Other namespaces may
// have other agents.
func TestASecondAgentOfATerminalIsRefused(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	key := cellkey.New()
	a := run(t, n.Client, Config{Key: key, Policy: control.Observe})
	b := run(t, n.Server, Config{Key: key, Policy: control.Observe})
	waitForEachOther(t, a, b)
	err := n.Client.Do(func() error {
		return Run(t.Context(), Config{
			Key: key, Policy: control.Observe, Interface: "eth0", Link: link.Config{Interface: "eth0"},
			Source: source.BPF,
		})
	})
	if err == nil || !strings.Contains(err.Error(), "another airtide share") || strings.Count(err.Error(), "\n") > 1 {
		t.Errorf("a second agent: got %v, want an error of one line that names the first", err)
	}
	from := a.now().Datagrams["accepted"]
	testnet.Eventually(t, longEnough, "the first agent to continue", func() bool {
		return a.now().Datagrams["accepted"] > from+3
	})
}

// An agent of the user nobody fails with one error that names the missing right.
func TestAnAgentWithoutRightsFails(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	key := cellkey.New()
	nobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	c := runChild(t, n.Client, order{key.Text(), control.Shares, lowRate}, nobody)
	select {
	case <-c.ended:
	case <-time.After(longEnough):
		t.Fatal("an agent without rights runs")
	}
	said := strings.TrimSpace(string(c.said))
	if c.steps > 0 || !strings.Contains(said, "root") || strings.Contains(said, "panic") {
		t.Errorf("an agent without rights: %d steps, error %s", c.steps, said)
	}
}
