package bpf

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"airtide/test/testnet"
)

// helperVariable makes the test binary act as another process. Its value names the task.
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
//	mpdial ADDRESS BYTES connects by MPTCP and sends BYTES
//	accept COUNT BYTES   accepts COUNT connections from descriptor 3 and reads BYTES of each
//	serve COUNT BYTES    accepts likewise, and only sends
//	banner COUNT END     accepts likewise, sends bannerBytes on each, ends it (see endings of
//	                     sendBanner), and holds no socket
//	give                 sends bannerBytes on descriptor 3 and ends at once
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
	case "give":
		_, err := os.NewFile(3, "connection").Write(make([]byte, bannerBytes))
		return err
	case "banner":
		count, _ := strconv.Atoi(args[1])
		if err := serveBanners(count, args[2]); err != nil {
			return err
		}
	case "dial", "mpdial":
		var dialer net.Dialer
		dialer.SetMultipathTCP(args[0] == "mpdial")
		c, err := dialer.Dial("tcp", args[1])
		if err != nil {
			return err
		}
		n, _ := strconv.Atoi(args[2])
		if args[0] == "mpdial" {
			// The first answer of the peer brings the second subflow up.
			if _, err := c.Write(make([]byte, n/10)); err != nil {
				return err
			}
			n -= n / 10
			if err := waitForSubflows(c.(*net.TCPConn)); err != nil {
				return err
			}
		}
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

// waitForSubflows waits until an MPTCP connection has a second subflow.
func waitForSubflows(c *net.TCPConn) error {
	const solMPTCP, mptcpInfo = 284, 1 // include/uapi/linux/mptcp.h
	var subflows byte                  // the first member of struct mptcp_info counts the further ones
	var err error
	up := testnet.Await(10*time.Second, func() bool {
		err = testnet.Control(c, func(fd int) error {
			size := uint32(1)
			_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), solMPTCP, mptcpInfo,
				uintptr(unsafe.Pointer(&subflows)), uintptr(unsafe.Pointer(&size)), 0)
			if errno != 0 {
				return errno
			}
			return nil
		})
		return err != nil || subflows > 0
	})
	switch {
	case err != nil:
		return fmt.Errorf("asking for the subflows: %w", err)
	case !up:
		return errors.New("no second subflow came up")
	}
	return nil
}

const bannerBytes = 20_000

// serveBanners accepts connections from descriptor 3 and sends a banner on each.
func serveBanners(count int, end string) error {
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	defer listener.Close()
	var serving sync.WaitGroup
	for range count {
		c, err := listener.Accept()
		if err != nil {
			return err
		}
		if end != "thread" {
			if err := sendBanner(c.(*net.TCPConn), end); err != nil {
				return err
			}
			continue
		}
		serving.Go(func() {
			runtime.LockOSThread()
			_ = sendBanner(c.(*net.TCPConn), "close") // a flow is missing if it fails
		})
	}
	serving.Wait()
	return nil
}

// sendBanner sends without a read, as the servers of some protocols do first, and ends the
// connection:
//
//	close  at once
//	reset  by a reset
//	child  leaves all to another program, as inetd does
//	late   closes the socket after the peer has reset the connection
func sendBanner(c *net.TCPConn, end string) error {
	defer c.Close()
	if end == "child" {
		file, err := c.File()
		if err != nil {
			return err
		}
		defer file.Close()
		child := exec.Command("/proc/self/exe")
		child.Env = append(os.Environ(),
			helperVariable+"=give", "AIRTIDE_BPF_TEST_NAME=child", "AIRTIDE_BPF_TEST_WAIT=")
		child.ExtraFiles = []*os.File{file}
		child.Stderr = os.Stderr
		return child.Start()
	}
	if _, err := c.Write(make([]byte, bannerBytes)); err != nil {
		return err
	}
	switch end {
	case "reset":
		return c.SetLinger(0)
	case "late":
		return testnet.Control(c, func(fd int) error {
			_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd)}}, -1) // waits for an error
			return err
		})
	}
	return nil
}

func inodeOf(c syscall.Conn) (uint64, error) {
	var stat unix.Stat_t
	err := testnet.Control(c, func(fd int) error { return unix.Fstat(fd, &stat) })
	return stat.Ino, err
}
