package testnet

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Dial says how Connect connects.
type Dial struct {
	// CongestionControl of both ends, "" for the default of the namespace.
	CongestionControl string
	// V6 connects by IPv6.
	V6 bool
	// Mapped gives both ends IPv6 sockets with v4-mapped addresses.
	Mapped bool
	// Client and Server prepare the sockets before connect() and listen(); the accepted socket
	// inherits from the latter.
	Client, Server func(fd int) error
}

// Connect makes a connection from the client to the server that lasts until the test ends.
func (n *Network) Connect(d Dial) (client, server *net.TCPConn) {
	n.tb.Helper()
	listener, to, err := n.Server.listen(d)
	if err != nil {
		n.tb.Fatal(err)
	}
	defer listener.Close()
	client, err = n.Client.dial(d, to)
	if err != nil {
		n.tb.Fatal(err)
	}
	n.tb.Cleanup(func() { client.Close() })
	if err := listener.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		n.tb.Fatal(err)
	}
	server, err = listener.AcceptTCP()
	if err != nil {
		n.tb.Fatalf("accepting: %v", err)
	}
	n.tb.Cleanup(func() { server.Close() })
	return client, server
}

// Listen opens a listener on a free port of the host's IPv4 address.
func (h *Host) Listen() (*net.TCPListener, netip.AddrPort, error) { return h.listen(Dial{}) }

// Dial connects from the host.
func (h *Host) Dial(to netip.AddrPort) (*net.TCPConn, error) { return h.dial(Dial{}, to) }

func (h *Host) listen(d Dial) (*net.TCPListener, netip.AddrPort, error) {
	config := net.ListenConfig{Control: control(d.CongestionControl, d.Server)}
	config.SetMultipathTCP(false)
	network := "tcp4"
	address := netip.AddrPortFrom(h.V4, 0)
	switch {
	case d.Mapped:
		network = "tcp"
		address = netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
	case d.V6:
		network = "tcp6"
		address = netip.AddrPortFrom(h.V6, 0)
	}
	var listener *net.TCPListener
	err := h.Do(func() error {
		l, err := config.Listen(context.Background(), network, address.String())
		if err == nil {
			listener = l.(*net.TCPListener)
		}
		return err
	})
	if err != nil {
		return nil, netip.AddrPort{}, fmt.Errorf("listening in %s: %w", h.Name, err)
	}
	port := listener.Addr().(*net.TCPAddr).AddrPort().Port()
	if d.Mapped {
		return listener, netip.AddrPortFrom(netip.AddrFrom16(h.V4.As16()), port), nil
	}
	return listener, netip.AddrPortFrom(address.Addr(), port), nil
}

func (h *Host) dial(d Dial, to netip.AddrPort) (*net.TCPConn, error) {
	if d.Mapped {
		return h.dialMapped(d, to)
	}
	dialer := net.Dialer{Control: control(d.CongestionControl, d.Client), Timeout: 10 * time.Second}
	var conn *net.TCPConn
	err := h.Do(func() error {
		c, err := dialer.Dial("tcp", to.String())
		if err == nil {
			conn = c.(*net.TCPConn)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("connecting from %s: %w", h.Name, err)
	}
	return conn, nil
}

// dialMapped connects an IPv6 socket to a v4-mapped address, which package net would turn into an
// IPv4 socket.
func (h *Host) dialMapped(d Dial, to netip.AddrPort) (conn *net.TCPConn, err error) {
	err = h.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		file := os.NewFile(uintptr(fd), "tcp6")
		defer file.Close()
		if err := prepare(fd, d.CongestionControl, d.Client); err != nil {
			return err
		}
		if err := unix.Connect(fd, &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}); err != nil {
			return err
		}
		c, err := net.FileConn(file)
		if err == nil {
			conn = c.(*net.TCPConn)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("connecting from %s: %w", h.Name, err)
	}
	return conn, nil
}

func control(congestionControl string, f func(fd int) error) func(string, string, syscall.RawConn) error {
	return func(_, _ string, raw syscall.RawConn) (err error) {
		if controlErr := raw.Control(func(fd uintptr) {
			err = prepare(int(fd), congestionControl,
				f)
		}); controlErr != nil {
			return controlErr
		}
		return err
	}
}

func prepare(fd int, congestionControl string, f func(fd int) error) error {
	if congestionControl != "" {
		if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, congestionControl); err != nil {
			return fmt.Errorf("selecting congestion control %s: %w", congestionControl, err)
		}
	}
	if f != nil {
		return f(fd)
	}
	return nil
}

// Stream sends from one end to the other until the test ends.
func Stream(tb testing.TB, from, to *net.TCPConn) {
	ctx, stop := context.WithCancel(tb.Context())
	tb.Cleanup(stop)
	go func() { _, _ = io.Copy(io.Discard, to) }()
	go func() {
		for block := make([]byte, 1<<16); ctx.Err() == nil; {
			if _, err := from.Write(block); err != nil {
				return
			}
		}
	}()
}

// Send writes n bytes to one end and reads them at the other.
func Send(from io.Writer, to io.Reader, n int64) error {
	written := make(chan error, 1)
	go func() {
		_, err := io.CopyN(from, zeros{}, n)
		written <- err
	}()
	if _, err := io.CopyN(io.Discard, to, n); err != nil {
		return fmt.Errorf("receiving: %w", err)
	}
	if err := <-written; err != nil {
		return fmt.Errorf("sending: %w", err)
	}
	return nil
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
