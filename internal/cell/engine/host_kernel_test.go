//go:build kernel

package engine

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/thread"
)

// in runs f on a thread in a port's namespace. Sockets that f opens stay there.
func in(tb testing.TB, e *Engine, port string, f func() error) {
	tb.Helper()
	if err := inPath(filepath.Join(namespaceFolder, e.Ready.Namespaces[port]), f); err != nil {
		tb.Fatalf("in %s: %v", port, err)
	}
}

func inPath(path string, f func() error) error {
	return thread.Do(func() error {
		ns, err := netns.GetFromPath(path)
		if err != nil {
			return err
		}
		defer ns.Close()
		if err := netns.Set(ns); err != nil {
			return err
		}
		return f()
	})
}

// sink takes what is sent to UDP port 9, so that no ICMP message says that nobody does.
func sink(tb testing.TB, e *Engine, port string) {
	tb.Helper()
	in(tb, e, port, func() error {
		c, err := net.ListenPacket("udp", ":9")
		if err == nil {
			tb.Cleanup(func() { c.Close() })
		}
		return err
	})
}

// sendUDP sends packets of 1400 bytes to port 9.
func sendUDP(to string, n int) error {
	c, err := net.Dial("udp", net.JoinHostPort(to, "9"))
	if err != nil {
		return err
	}
	defer c.Close()
	for range n {
		if _, err := c.Write(make([]byte, 1400)); err != nil {
			return fmt.Errorf("sending: %w", err)
		}
	}
	return nil
}

// connect makes a TCP connection from a port to an address of another.
func connect(tb testing.TB, e *Engine, from, to, address string) (client, server *net.TCPConn) {
	tb.Helper()
	var listener *net.TCPListener
	in(tb, e, to, func() error {
		l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err == nil {
			listener = l.(*net.TCPListener)
		}
		return err
	})
	defer listener.Close()
	in(tb, e, from, func() error {
		c, err := net.DialTimeout("tcp", listener.Addr().String(), 5*time.Second)
		if err == nil {
			client = c.(*net.TCPConn)
		}
		return err
	})
	tb.Cleanup(func() { client.Close() })
	if err := listener.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		tb.Fatal(err)
	}
	server, err := listener.AcceptTCP()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { server.Close() })
	return client, server
}

// transfer sends random bytes, closes the sending half, and fails the test when others arrive.
func transfer(tb testing.TB, from, to *net.TCPConn, n int64) {
	tb.Helper()
	sent := sha256.New()
	got := sha256.New()
	written := make(chan error, 1)
	go func() {
		random := rand.NewChaCha8([32]byte{1})
		_, err := io.CopyN(io.MultiWriter(from, sent), random, n)
		if err == nil {
			err = from.CloseWrite()
		}
		written <- err
	}()
	received, err := io.Copy(got, to)
	if err != nil {
		tb.Fatal(err)
	}
	if err := <-written; err != nil {
		tb.Fatal(err)
	}
	if received != n || !bytes.Equal(sent.Sum(nil), got.Sum(nil)) {
		tb.Errorf("%d of %d bytes arrived, or others than were sent", received, n)
	}
}

func tcpInfo(tb testing.TB, c *net.TCPConn) (info *unix.TCPInfo) {
	tb.Helper()
	raw, err := c.SyscallConn()
	if err == nil {
		controlErr := raw.Control(func(fd uintptr) {
			info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		})
		if controlErr != nil {
			err = controlErr
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
	return info
}

func congestionControl(tb testing.TB, c *net.TCPConn, name string) {
	tb.Helper()
	raw, err := c.SyscallConn()
	if err == nil {
		controlErr := raw.Control(func(fd uintptr) {
			err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
		})
		err = errors.Join(err, controlErr)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// counter reads a counter of a port's namespace by its group and name, as nstat knows it: Tcp
// RetransSegs.
func counter(tb testing.TB, e *Engine, port, group, name string) (value uint64) {
	tb.Helper()
	found := false
	in(tb, e, port, func() error {
		for _, file := range []string{"netstat", "snmp"} {
			f, err := os.Open("/proc/thread-self/net/" + file)
			if err != nil {
				return err
			}
			defer f.Close()
			for lines := bufio.NewScanner(f); lines.Scan(); {
				names := strings.Fields(lines.Text())
				lines.Scan()
				values := strings.Fields(lines.Text())
				for i := range names {
					if names[0] == group+":" && names[i] == name {
						value, err = strconv.ParseUint(values[i], 10, 64)
						found = true
					}
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if !found {
		tb.Fatalf("there is no counter %s %s", group, name)
	}
	return value
}

// datagrams sends n datagrams of random bytes and fails the test when one of them arrives changed
// or none arrives; it returns how many did.
func datagrams(tb testing.TB, e *Engine, from, to, address string, size, n int) (arrived int) {
	tb.Helper()
	var receiver *net.UDPConn
	in(tb, e, to, func() (err error) {
		receiver, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(address)})
		return err
	})
	defer receiver.Close()
	_ = receiver.SetReadBuffer(8 << 20)
	payload := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(payload)
	in(tb, e, from, func() error {
		c, err := net.Dial("udp", receiver.LocalAddr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		// A datagram larger than the MTU is refused rather than cut into fragments.
		raw, err := c.(*net.UDPConn).SyscallConn()
		if err != nil {
			return err
		}
		err = raw.Control(func(fd uintptr) {
			if strings.Contains(address, ":") {
				_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO)
				_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1)
			} else {
				_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO)
			}
		})
		if err != nil {
			return err
		}
		for range n {
			if _, err := c.Write(payload); err != nil {
				return err
			}
		}
		return nil
	})
	buffer := make([]byte, 4096)
	for arrived < n {
		_ = receiver.SetReadDeadline(time.Now().Add(time.Second))
		got, _, err := receiver.ReadFrom(buffer)
		if err != nil {
			break
		}
		if !bytes.Equal(buffer[:got], payload) {
			tb.Fatalf("a datagram arrived changed: %d bytes of %d", got, size)
		}
		arrived++
	}
	if arrived == 0 {
		tb.Errorf("no datagram of %d bytes arrived at %s", size, address)
	}
	return arrived
}
