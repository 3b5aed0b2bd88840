package bpf

import (
	"fmt"
	"io"
	"net"
	"os"
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
