package bpf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"airtide/test/testnet"
)

// helperVariable makes the test binary act as another process: its value is what to do.
const helperVariable = "AIRTIDE_BPF_TEST_HELPER"

func TestMain(m *testing.M) {
	if command := os.Getenv(helperVariable); command != "" {
		if err := help(strings.Fields(command)); err != nil {
			fmt.Fprintln(os.Stderr, "helper:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// help carries out a helper's command:
//
//	dial ADDRESS BYTES   connects and sends BYTES
//	accept COUNT BYTES   accepts COUNT connections from descriptor 3 and reads BYTES of each
//	serve COUNT BYTES    accepts likewise, and only sends
//
// Then it says "ready" with the inodes of its sockets, and holds them until its standard input
// ends.
func help(args []string) error {
	if name := os.Getenv("AIRTIDE_BPF_TEST_NAME"); name != "" {
		// The name of the process is that of its first thread; the thread that calls the kernel has
		// another.
		if err := os.WriteFile("/proc/self/comm", []byte(name), 0); err != nil {
			return err
		}
	}
	runtime.LockOSThread()
	thread := [16]byte{'t', 'h', 'r', 'e', 'a', 'd'}
	if unix.Gettid() != unix.Getpid() {
		if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&thread)), 0, 0, 0); err != nil {
			return err
		}
	}
	if os.Getenv("AIRTIDE_BPF_TEST_WAIT") != "" {
		if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
			return err
		}
	}
	var conns []net.Conn
	switch args[0] {
	case "dial":
		c, err := net.Dial("tcp", args[1])
		if err != nil {
			return err
		}
		n, _ := strconv.Atoi(args[2])
		if _, err := c.Write(make([]byte, n)); err != nil {
			return err
		}
		conns = append(conns, c)
	case "accept", "serve":
		listener, err := net.FileListener(os.NewFile(3, "listener"))
		if err != nil {
			return err
		}
		count, _ := strconv.Atoi(args[1])
		n, _ := strconv.Atoi(args[2])
		for len(conns) < count {
			c, err := listener.Accept()
			if err != nil {
				return err
			}
			if args[0] == "serve" {
				_, err = c.Write(make([]byte, n))
			} else {
				_, err = io.ReadFull(c, make([]byte, n))
			}
			if err != nil {
				return err
			}
			conns = append(conns, c)
		}
	default:
		return fmt.Errorf("unknown command %q", args[0])
	}
	inodes := make([]string, 0, 16)
	for _, c := range conns[:min(len(conns), 16)] {
		inode, err := inodeOf(c.(syscall.Conn))
		if err != nil {
			return err
		}
		inodes = append(inodes, strconv.FormatUint(inode, 10))
	}
	fmt.Println("ready", strings.Join(inodes, " "))
	_, err := io.Copy(io.Discard, os.Stdin)
	for _, c := range conns {
		c.Close()
	}
	return err
}

func inodeOf(c syscall.Conn) (uint64, error) {
	var stat unix.Stat_t
	err := testnet.Control(c, func(fd int) error { return unix.Fstat(fd, &stat) })
	return stat.Ino, err
}

// helper is another process that holds sockets.
type helper struct {
	t      *testing.T
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
}

// startHelper starts the test binary as another process on a host. prepare may be nil.
func startHelper(t *testing.T, host *testnet.Host, name, command string, prepare func(*exec.Cmd)) *helper {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), helperVariable+"="+command, "AIRTIDE_BPF_TEST_NAME="+name)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(cmd)
	}
	if err := host.Start(cmd); err != nil {
		t.Fatalf("starting a helper: %v", err)
	}
	h := &helper{t: t, cmd: cmd, input: input, output: bufio.NewReader(output)}
	t.Cleanup(h.end)
	return h
}

// inodes waits until the helper is ready and returns the inodes of its sockets.
func (h *helper) inodes() (inodes []uint64) {
	h.t.Helper()
	line, err := h.output.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready") {
		h.t.Fatalf("a helper said %q: %v", line, err)
	}
	for _, f := range strings.Fields(line)[1:] {
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			h.t.Fatal(err)
		}
		inodes = append(inodes, n)
	}
	return inodes
}

func (h *helper) pid() uint32 { return uint32(h.cmd.Process.Pid) }

// goOn lets a helper begin that was started with AIRTIDE_BPF_TEST_WAIT.
func (h *helper) goOn() {
	h.t.Helper()
	if _, err := h.input.Write([]byte{1}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *helper) end() {
	_ = h.input.Close()
	if err := h.cmd.Wait(); err != nil && !errors.Is(err, os.ErrProcessDone) && h.cmd.ProcessState == nil {
		h.t.Errorf("a helper: %v", err)
	}
}
