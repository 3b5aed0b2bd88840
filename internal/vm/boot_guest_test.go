//go:build guest

package vm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/thread"
	"airtide/test/need"
)

// needs skips a test where guests cannot be had. They have kernel 6.1, or the one that the
// environment names.
func needs(t *testing.T) Kernel {
	t.Helper()
	need.Guest(t)
	version := cmp.Or(os.Getenv("VM_TEST_KERNEL"), "6.1")
	k, err := Cached(version)
	if errors.Is(err, ErrNoKernel) {
		k, err = Fetch(t.Context(), version)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// cable is a TAP in a network namespace of its own. The host has the other end: 192.0.2.1.
type cable struct {
	net *Net
	do  func(func() error) error // calls a function in the namespace
}

func newCable(t *testing.T) cable {
	t.Helper()
	work := make(chan func() error)
	done := make(chan error)
	thread.Go(func() {
		for f := range work {
			done <- f()
		}
	})
	t.Cleanup(func() { close(work) })
	c := cable{do: func(f func() error) error { work <- f; return <-done }}
	err := c.do(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		request, err := unix.NewIfreq("tap0")
		if err != nil {
			return err
		}
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
			return err
		}
		link, err := netlink.LinkByName("tap0")
		if err != nil {
			return err
		}
		address, err := netlink.ParseAddr("192.0.2.1/24")
		if err != nil {
			return err
		}
		c.net = &Net{
			Tap: os.NewFile(uintptr(fd), "tap0"), MAC: []byte{2, 0, 0, 0, 0, 9}, MTU: 1400,
			Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.2/32")},
			Routers:   []Router{{netip.MustParseAddr("192.0.2.1"), link.Attrs().HardwareAddr}},
		}
		return errors.Join(netlink.AddrAdd(link, address), netlink.LinkSetUp(link))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.net.Tap.Close() })
	return c
}

func TestAGuest(t *testing.T) {
	c := newCable(t)
	host := t.TempDir() + "/greeting"
	if err := os.WriteFile(host, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	var kernel bytes.Buffer
	guest := needs(t)
	began := time.Now()
	before, err := heldUp()
	if err != nil {
		t.Fatal(err)
	}
	g, err := Start(t.Context(), Config{
		Kernel: guest, Net: c.net, Programs: []string{"/bin/cat", "/bin/sh", "/bin/sleep"},
		Files: map[string]string{"/etc/greeting": host}, Console: &kernel,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	t.Logf("booted kernel %s by %s in %s", g.Release, g.Accelerator, g.Booted)

	t.Run("is confined", func(t *testing.T) { isConfined(t, g) })
	t.Run("has a network", func(t *testing.T) { hasNetwork(t, g, c, began, before) })
	t.Run("runs programs", func(t *testing.T) { runsPrograms(t, g) })
	t.Run("gives and takes files", func(t *testing.T) { givesFiles(t, g) })
	t.Run("calls functions", func(t *testing.T) { callsFunctions(t, g) })
	t.Run("has a clock", func(t *testing.T) {
		one, hereOne, _, err := g.Clock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Run(t.Context(), Command{Path: "/bin/sleep", Args: []string{"0.5"}}); err != nil {
			t.Fatal(err)
		}
		two, hereTwo, within, err := g.Clock(t.Context())
		if ratio := float64(two-one) / float64(hereTwo-hereOne); err != nil || ratio < 0.5 || ratio > 2 {
			t.Errorf("it runs %g times as fast (known within %s), %v", ratio, within, err)
		}
	})
	t.Run("ends", func(t *testing.T) { ends(t, g) })
	if said := FirstKernelProblem(kernel.String()); said != "" {
		t.Errorf("the guest's kernel complained: %s, in\n%s", said, &kernel)
	}
}

// isConfined reads what qemu may do from the kernel: no rights, no other system calls than allowed,
// a short environment, and nothing of root's.
func isConfined(t *testing.T, g *Guest) {
	folder := fmt.Sprintf("/proc/%d/", g.PID())
	status, err := os.ReadFile(folder + "status")
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{"NoNewPrivs:\t1\n", "Seccomp:\t2\n"}
	if g.Accelerator.user() != nil {
		wanted = append(wanted, "Uid:\t65534\t65534\t65534\t65534\n", "Gid:\t65534\t65534\t65534\t65534\n",
			"CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n")
	}
	for _, want := range wanted {
		if !strings.Contains(string(status), "\n"+want) {
			t.Errorf("qemu lacks %q in\n%s", want, status)
		}
	}
	if environment, err := os.ReadFile(folder + "environ"); err != nil || bytes.Contains(environment, []byte("HOME=")) {
		t.Errorf("qemu's environment is %q, %v", environment, err)
	}
}

func runsPrograms(t *testing.T, g *Guest) {
	var out, stderr bytes.Buffer
	p, err := g.Start(t.Context(), Command{
		Path: "/bin/sh", Args: []string{"-c", "echo $WORD; echo oops >&2; exit 3"}, Env: []string{"WORD=word"},
		Dir:    "/tmp",
		Stdout: &out, Stderr: &stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	var exit *ExitError
	if err := p.Err(); !errors.As(err, &exit) || exit.Status != 3 || out.String() != "word\n" ||
		stderr.String() != "oops\n" {
		t.Errorf("it printed %q and %q and ended with %v", &out, &stderr, err)
	}
	if _, err := g.Start(t.Context(), Command{Path: "/bin/none"}); err == nil ||
		!strings.Contains(err.Error(), "/bin/none") {
		t.Errorf("a program that is not there: %v", err)
	}
	// All children end with a program, and hold its output no longer.
	p, err = g.Start(t.Context(), Command{Path: "/bin/sh", Args: []string{"-c", "sleep 1000 & sleep 1000 & wait"}})
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if err := p.Err(); !errors.As(err, &exit) || exit.Signal != syscall.SIGKILL {
		t.Errorf("a killed program ended with %v", err)
	}
	err = g.Run(t.Context(), Command{Path: "/bin/sh", Args: []string{"-c", "echo a reason >&2; exit 1"}})
	if err == nil || !strings.Contains(err.Error(), "a reason") {
		t.Errorf("the error of a program is %v", err)
	}
}

func givesFiles(t *testing.T, g *Guest) {
	text, err := g.ReadFile(t.Context(), "/etc/greeting")
	if err != nil || string(text) != "hello" {
		t.Errorf("a file of the host reads %q, %v", text, err)
	}
	if err := g.MakeFile(t.Context(), "/tmp/new/file", []byte("start"), 1<<20); err != nil {
		t.Fatal(err)
	}
	text, err = g.ReadFile(t.Context(), "/tmp/new/file")
	if want := append([]byte("start"), make([]byte, 1<<20-5)...); err != nil || !bytes.Equal(text, want) {
		t.Errorf("a new file has %d bytes, %v", len(text), err)
	}
	if _, err := g.ReadFile(t.Context(), "/none"); err == nil || !strings.Contains(err.Error(), "/none") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func callsFunctions(t *testing.T, g *Guest) {
	var n int
	if err := g.Call(t.Context(), "double", 21, &n); err != nil || n != 42 {
		t.Errorf("double 21 is %d, %v", n, err)
	}
	if err := g.Call(t.Context(), "fail", nil, nil); err == nil || err.Error() != "as it should" {
		t.Errorf("a function that fails: %v", err)
	}
	if err := g.Call(t.Context(), "none", nil, nil); err == nil {
		t.Error("a function that is not there can be called")
	}
}

// firstPacketLimit is the greatest time from a guest's start to its first packet, without the time
// that other programs take of this machine.
const firstPacketLimit = 15 * time.Second

// hasNetwork also holds the time since the guest's start against the limit.
func hasNetwork(t *testing.T, g *Guest, c cable, began time.Time, before held) {
	said, write := io.Pipe()
	p, err := g.Start(
		t.Context(),
		Command{Path: Program, Env: []string{serveVariable + "=192.0.2.2:7"}, Stdout: write, Stderr: write},
	)
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("listening\n"))
	if _, err := io.ReadFull(said, line); err != nil || string(line) != "listening\n" {
		t.Fatalf("the guest says %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	got := []byte(nil)
	err = c.do(func() error {
		connection, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(context.Background(), "tcp",
			"192.0.2.2:7")
		if err != nil {
			return err
		}
		defer connection.Close()
		go func() {
			_, _ = connection.Write(sent)
			_ = connection.(*net.TCPConn).CloseWrite()
		}()
		first := make([]byte, 1)
		if _, err := io.ReadFull(connection, first); err != nil {
			return err
		}
		took := time.Since(began)
		used, err := processorTime(g.PID())
		if err != nil {
			return err
		}
		now, err := heldUp(g.PID())
		if err != nil {
			return err
		}
		others := now.since(before)
		t.Logf(
			"the first packet came %.1f s after the start, with %.1f s of the processors, of which others took %.1f s",
			took.Seconds(), used.Seconds(), others.Seconds())
		if took-others > firstPacketLimit {
			t.Errorf("the first packet came after %s, of which others took %s: want %s", took, others, firstPacketLimit)
		}
		rest, err := io.ReadAll(connection)
		got = append(first, rest...)
		return err
	})
	if err != nil || !bytes.Equal(sent, got) {
		t.Errorf("of %d bytes %d came back, %v", len(sent), len(got), err)
	}
	var exit *ExitError
	if err := p.Err(); !errors.As(err, &exit) || exit.Status != 7 {
		t.Errorf("the server in the guest ended with %v", err)
	}
}

// held is for how long others kept processes from going on: those of this machine, and of its host.
type held struct{ waited, stolen time.Duration }

func (h held) since(before held) time.Duration {
	return h.waited - before.waited + h.stolen - before.stolen
}

// heldUp reads it for this process and some others, over all of their threads.
func heldUp(others ...int) (h held, err error) {
	for _, pid := range append(others, os.Getpid()) {
		threads, err := procfs.AllThreads(pid)
		if err != nil {
			return h, err
		}
		for _, thread := range threads {
			s, err := thread.Schedstat()
			if err != nil {
				continue // it has ended
			}
			h.waited += time.Duration(s.WaitingNanoseconds)
		}
	}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return h, err
	}
	all, err := fs.Stat()
	h.stolen = time.Duration(all.CPUTotal.Steal * float64(time.Second))
	return h, err
}

// processorTime returns the processors' time that a process has used.
func processorTime(pid int) (time.Duration, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := p.Stat()
	return time.Duration(stat.CPUTime() * float64(time.Second)), err
}

func ends(t *testing.T, g *Guest) {
	p, err := g.Start(t.Context(), Command{Path: "/bin/sleep", Args: []string{"1000"}})
	if err != nil {
		t.Fatal(err)
	}
	pid := g.PID()
	g.Close()
	if err := p.Err(); err == nil {
		t.Error("a program outlives its guest")
	}
	if _, err := g.ReadFile(t.Context(), "/etc/greeting"); err == nil || !strings.Contains(err.Error(), "was ended") {
		t.Errorf("a guest that has ended answers: %v", err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("qemu is still there: %v", err)
	}
}

func TestKernels(t *testing.T) {
	needs(t)
	for _, version := range Versions() {
		k, err := Cached(version)
		if errors.Is(err, ErrNoKernel) {
			continue // runs fetch the kernels that they need
		}
		t.Run(version, func(t *testing.T) {
			if err != nil {
				t.Fatal(err)
			}
			g, err := Start(t.Context(), Config{Kernel: k})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if g.Release != k.Release || !strings.HasPrefix(g.Release, version+".") {
				t.Errorf("kernel %s says that it is %s", k.Release, g.Release)
			}
			for _, path := range []string{"/proc/net/netstat", "/sys/kernel/btf/vmlinux"} {
				if content, err := g.ReadFile(t.Context(), path); err != nil || len(content) == 0 {
					t.Errorf("%s has %d bytes, %v", path, len(content), err)
				}
			}
		})
	}
}

func TestAGuestWhoseQemuDies(t *testing.T) {
	g, err := Start(t.Context(), Config{Kernel: needs(t), Programs: []string{"/bin/sleep"}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	p, err := g.Start(t.Context(), Command{Path: "/bin/sleep", Args: []string{"1000"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(g.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := p.Err(); err == nil ||
		!strings.Contains(err.Error(), "the virtual machine has ended: qemu: signal: killed") {
		t.Errorf("its program ends with %v", err)
	}
	if _, err := g.Start(t.Context(), Command{Path: "/bin/sleep"}); err == nil {
		t.Error("a program can be started in it")
	}
}

func TestNothingIsLeftOfAKilledProcess(t *testing.T) {
	needs(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), childVariable+"=1")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	qemu, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(qemu)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// A pidfd is readable once its process has ended.
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(qemu), Events: unix.POLLIN}}, 10_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			t.Errorf("qemu outlives it: %v", err)
		}
		break
	}
	_ = c.Wait() // killed
}
