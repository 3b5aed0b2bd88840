//go:build kernel

package bpf

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// stayOnOneProcessor keeps all threads of this process, and so the soft interrupts of its traffic,
// on one processor.
func stayOnOneProcessor(t *testing.T) {
	t.Helper()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	one.Set(0)
	all := func(set *unix.CPUSet) {
		threads, err := filepath.Glob("/proc/self/task/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range threads {
			if tid, err := strconv.Atoi(filepath.Base(path)); err == nil {
				_ = unix.SchedSetaffinity(tid, set) // it may have ended
			}
		}
	}
	all(&one)
	t.Cleanup(func() { all(&before) })
}

// A flow whose announcement found the buffer full is announced when there is room again.
func TestFlowsAreAnnouncedLaterWhenTheBufferWasFull(t *testing.T) {
	// Each processor has a buffer of its own, and all of them are to be full.
	stayOnOneProcessor(t)
	n := newNetwork(t, 0)
	f := filter.Filter{NetNS: []uint32{n.Client.NetNS, n.Server.NetNS}}
	for _, form := range forms {
		t.Run(string(form), func(t *testing.T) {
			s := open(t, Options{Attach: form, Filter: f, BufferBytes: 64 << 10})
			defer s.Close()
			first, firstServer := n.Connect(testnet.Dial{})
			send(t, first, firstServer, 1000*mss) // fills the buffer
			late, lateServer := n.Connect(testnet.Dial{})
			send(t, late, lateServer, 10)
			r := &recording{
				form: form, source: s, flows: map[tcp.FlowID]tcp.Flow{}, announced: map[tcp.FlowID]int{},
				samples: map[tcp.FlowID][]tcp.Sample{}, events: map[tcp.FlowID][]tcp.Event{},
			}
			ctx, cancel := context.WithCancel(context.Background())
			var running sync.WaitGroup
			running.Go(func() {
				if err := s.Run(ctx, r); err != nil {
					t.Error(err)
				}
			})
			testnet.Eventually(t, time.Minute, "room in the buffer", func() bool {
				r.mu.Lock()
				defer r.mu.Unlock()
				return len(r.samples) > 0
			})
			send(t, late, lateServer, 10)
			send(t, lateServer, late, 10)
			n.Settle(settled)
			cancel()
			running.Wait()
			for _, stray := range r.stray {
				t.Errorf("a %s came before the flow was announced", stray)
			}
			for _, c := range []net.Conn{late, lateServer} {
				f := r.flow(t, c)
				if f.Inherited || f.PID == 0 && c == late {
					t.Errorf("flow %+v, want one that was opened meanwhile, with its owner", f)
				}
				if len(r.packets(f.ID)) == 0 || len(r.of(f.ID, tcp.EventOpen)) != 1 {
					t.Errorf("%s: %d samples, %d open events", &f, len(r.packets(f.ID)), len(r.of(f.ID, tcp.EventOpen)))
				}
			}
		})
	}
}

func TestFlowsBeyondTheTableAreCounted(t *testing.T) {
	n := newNetwork(t, 0)
	obs := observeNetwork(t, n, Options{MaxFlows: 4})
	for range 20 {
		client, server := n.Connect(testnet.Dial{})
		send(t, client, server, 2000)
	}
	obs.check(func(t *testing.T, r *recording) {
		if len(r.flows) != 4 || r.loss.Untracked != 2*20-4 {
			t.Errorf("%d flows followed and %d not, of 40", len(r.flows), r.loss.Untracked)
		}
		for id := range r.flows {
			if len(r.samples[id]) == 0 {
				t.Errorf("flow %d has no samples", id)
			}
		}
	})
}

func TestTenThousandConnectionsAtOnce(t *testing.T) {
	const count = 10_000
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Max < count+1000 {
		t.Fatalf("the limit of open files is %d: raise it (ulimit -Hn %d)", limit.Max, count+1000)
	}
	n := testnet.New(t, testnet.Options{})
	sysctl(t, n, "net.core.somaxconn", "4096")
	listener, _, err := n.Client.Listen() // both ends in one namespace, over loopback
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file, err := listener.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	obs := observeNetwork(t, n, Options{})
	peer := startHelper(
		t, n.Client, "peer", fmt.Sprintf("accept %d 1", count),
		func(cmd *exec.Cmd) { cmd.ExtraFiles = []*os.File{file} },
	)
	address := listener.Addr().(*net.TCPAddr)
	conns := make([]int, 0, count)
	defer func() {
		for _, fd := range conns {
			_ = unix.Close(fd)
		}
	}()
	err = n.Client.Do(func() error {
		for range count {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			conns = append(conns, fd)
			if err := unix.Connect(
				fd, &unix.SockaddrInet4{Port: address.Port, Addr: [4]byte(address.IP.To4())},
			); err != nil {
				return err
			}
			if _, err := unix.Write(fd, []byte{1}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("after %d connections: %v", len(conns), err)
	}
	peer.inodes()
	obs.await(time.Minute, "all flows", func(r *recording) bool { return len(r.flows) >= 2*count })
	obs.check(func(t *testing.T, r *recording) {
		var unowned, silent int
		for id, f := range r.flows {
			unowned += btoi(f.PID == 0)
			// Each end: the sample at the opening, then one for the byte or for its ACK.
			silent += btoi(len(r.samples[id]) < 2 || len(r.of(id, tcp.EventOpen)) != 1)
		}
		// On a busy machine the kernel leaves out runs where a soft interrupt meets a running
		// program.
		missed := r.loss.Missed
		if len(r.flows) != 2*count || unowned != 0 || silent > int(missed) || r.loss.Total() != missed ||
			r.loss.Untracked != 0 {
			t.Errorf("%d flows of %d, %d without owner, %d without samples, lost %+v", len(r.flows), 2*count, unowned,
				silent, r.loss)
		}
	})
}

func TestNothingIsLeftAfterClose(t *testing.T) {
	for _, form := range forms {
		s := open(t, Options{Attach: form})
		var programs []ebpf.ProgramID
		var maps []ebpf.MapID
		for name, p := range s.loaded.coll.Programs {
			info, err := p.Info()
			if err != nil {
				t.Fatal(err)
			}
			id, ok := info.ID()
			if !ok || p.IsPinned() {
				t.Fatalf("%s: id known %t, pinned %t", name, ok, p.IsPinned())
			}
			programs = append(programs, id)
		}
		for name, m := range s.loaded.coll.Maps {
			info, err := m.Info()
			if err != nil {
				t.Fatal(err)
			}
			id, ok := info.ID()
			if !ok || m.IsPinned() {
				t.Fatalf("%s: id known %t, pinned %t", name, ok, m.IsPinned())
			}
			maps = append(maps, id)
		}
		if len(programs) < len(hooks) {
			t.Fatalf("%s: %d programs for %d hooks", form, len(programs), len(hooks))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		// A link holds its program, so links are gone when programs are. The kernel frees after a
		// grace period, and the library unmaps the programs' variables when the garbage collector
		// finds them.
		testnet.Eventually(t, time.Minute, string(form)+" to leave nothing", func() bool {
			runtime.GC()
			for _, id := range programs {
				if p, err := ebpf.NewProgramFromID(id); err == nil {
					p.Close()
					return false
				}
			}
			for _, id := range maps {
				if m, err := ebpf.NewMapFromID(id); err == nil {
					m.Close()
					return false
				}
			}
			return true
		})
	}
}

// The next best way replaces one that the kernel refuses. It sees as much, and the description
// names its cost.
func TestWhatTheKernelRefusesIsReplaced(t *testing.T) {
	for _, c := range []struct {
		refuses []string
		attach  Attach // "" for any
		says    []string
	}{
		{[]string{string(AttachTrusted)}, AttachTPBTF, []string{"tp_btf_trusted: each record costs more"}},
		{
			[]string{string(AttachTrusted), string(AttachTPBTF)},
			AttachRawTP,
			[]string{
				"tp_btf_trusted: each record costs more",
				"tp_btf: each record costs more, since the kernel refused it: refused by a test",
			},
		},
		{
			[]string{walkProgram},
			"",
			[]string{"idle connections: each is seen at its next segment only", "refused by a test"},
		},
	} {
		t.Run(strings.Join(c.refuses, " "), func(t *testing.T) {
			n := newNetwork(t, 0)
			client, server := n.Connect(testnet.Dial{}) // idle when the observation begins
			s := open(t,
				Options{refuses: c.refuses, Filter: filter.Filter{NetNS: []uint32{n.Client.NetNS, n.Server.NetNS}}})
			defer s.Close()
			description := s.Description()
			if c.attach != "" && s.loaded.attach != c.attach {
				t.Errorf("attached as %s, want %s", s.loaded.attach, c.attach)
			}
			for _, want := range append(c.says, string(s.loaded.attach)+", per ACK") {
				if !strings.Contains(description, want) {
					t.Errorf("%q does not say %q", description, want)
				}
			}
			send(t, client, server, 10*mss)
			quiet(t, client)
			seen := tally{flows: map[tcp.FlowID]tcp.Flow{}, packets: map[tcp.FlowID]int{}}
			ctx, cancel := context.WithCancel(context.Background())
			cancel() // what has been recorded is delivered at the end
			if err := s.Run(ctx, &seen); err != nil {
				t.Fatal(err)
			}
			for id, f := range seen.flows {
				if seen.packets[id] == 0 || !f.Inherited {
					t.Errorf("%s: %d samples, inherited %t", &f, seen.packets[id], f.Inherited)
				}
			}
			if len(seen.flows) != 2 {
				t.Errorf("%d flows, want the two ends", len(seen.flows))
			}
		})
	}
	everything := []string{string(AttachTrusted), string(AttachTPBTF), string(AttachRawTP)}
	s, err := Open(Options{refuses: everything})
	if err == nil {
		s.Close()
		t.Fatal("opened though every way was refused")
	}
	const want = "as tp_btf and raw_tp: refused by a test"
	if text := err.Error(); !strings.Contains(text, want) || strings.Count(text, "refused") != 1 ||
		strings.Contains(text, "\n") {
		t.Errorf("%q does not say %q, once and in one line", err, want)
	}
}
