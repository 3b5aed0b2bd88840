//go:build kernel

package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/leftover"
)

func start(tb testing.TB, c Config) *Engine {
	tb.Helper()
	e, err := Start(context.Background(), c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		select {
		case <-e.Ended():
		default:
			if err := e.Stop(); err != nil {
				tb.Error(err)
			}
		}
	})
	return e
}

func status(tb testing.TB, e *Engine) *Status {
	tb.Helper()
	s, err := e.Status()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// leftOf lists the namespaces of an engine.
func leftOf(tb testing.TB, pid int) []string {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(namespaceFolder, namePrefix+leftover.Owner(pid)+"-*"))
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

func TestAFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	before, err := filepath.Glob(filepath.Join(namespaceFolder, namePrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	twice := pair(lineConfig{})
	twice.Ports[1].Addresses = twice.Ports[0].Addresses
	missing := pair(lineConfig{})
	missing.Ports = append(missing.Ports,
		Port{Name: "phone", Kind: Outside, Station: 1, Interface: "none0", Addresses: host("10.88.0.9")})
	for _, c := range []struct {
		name   string
		config Config
		want   string
	}{
		{"the world refuses", pair(lineConfig{Fail: "a rate of 0 carries nothing"}), "a rate of 0 carries nothing"},
		{"an address is taken", twice, "both have address 10.88.0.1"},
		{"an interface is missing", missing, `there is no interface "none0"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := Start(context.Background(), c.config)
			if err == nil {
				_ = e.Stop()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("it says %q, want %q", err, c.want)
			}
			after, err := filepath.Glob(filepath.Join(namespaceFolder, namePrefix+"*"))
			if err != nil || len(after) > len(before) {
				t.Errorf("left: %v (%v)", after, err)
			}
		})
	}
}

func TestAPanicOfTheWorldIsToldAndLeavesNothing(t *testing.T) {
	e := start(t, pair(lineConfig{Panic: true}))
	in(t, e, "station", func() error {
		return sendUDP("10.88.1.1", 1)
	})
	<-e.Ended()
	if _, err := e.Status(); err == nil || !strings.Contains(err.Error(), "this world was told to fail") {
		t.Errorf("Status says %v", err)
	}
	if left := leftOf(t, e.Ready.PID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestPriority(t *testing.T) {
	policy := func(t *testing.T, pid int) map[uint32]int {
		t.Helper()
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		if err != nil || len(threads) < 2 {
			t.Fatalf("threads %v, %v", threads, err)
		}
		policies := map[uint32]int{}
		for _, path := range threads {
			thread, err := strconv.Atoi(filepath.Base(path))
			if err != nil {
				t.Fatal(err)
			}
			attr, err := unix.SchedGetAttr(thread, 0)
			if err != nil {
				continue // it has ended
			}
			policies[attr.Policy]++
		}
		return policies
	}
	t.Run("every thread is at a real-time priority", func(t *testing.T) {
		e := start(t, pair(lineConfig{}))
		if p := policy(t, e.Ready.PID); len(p) != 1 || p[unix.SCHED_RR] == 0 {
			t.Errorf("threads by policy: %v, want SCHED_RR alone", p)
		}
		if len(e.Ready.Warnings) > 0 {
			t.Errorf("warnings: %q", e.Ready.Warnings)
		}
		if p := policy(t, os.Getpid()); p[unix.SCHED_RR] != 0 {
			t.Errorf("threads of the parent by policy: %v, want none at SCHED_RR", p)
		}
	})
}
