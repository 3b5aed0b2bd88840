//go:build kernel

package bpf

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// ending is a way to end a connection, and the expected reason at each end. ReasonNone is for an
// end that nobody watches.
type ending struct {
	name           string
	dial           testnet.Dial
	end            func(t *testing.T, n *testnet.Network, client, server *net.TCPConn)
	client, server tcp.Reason
}

func linger0(t *testing.T, c *net.TCPConn) {
	t.Helper()
	if err := c.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// state waits until a socket has a state.
func state(t *testing.T, c *net.TCPConn, want tcp.State) {
	t.Helper()
	testnet.Eventually(t, time.Minute, "the state "+want.String(),
		func() bool { return tcp.State(testnet.Info(t, c).State) == want })
}

var endings = []ending{
	{
		name: "the client closes first",
		end: func(t *testing.T, _ *testnet.Network, client, server *net.TCPConn) {
			client.Close()
			state(t, server, tcp.StateCloseWait)
			server.Close()
		},
		client: tcp.ReasonLocalFIN, server: tcp.ReasonRemoteFIN,
	},
	{
		name: "the server closes first",
		end: func(t *testing.T, _ *testnet.Network, client, server *net.TCPConn) {
			server.Close()
			state(t, client, tcp.StateCloseWait)
			client.Close()
		},
		client: tcp.ReasonRemoteFIN, server: tcp.ReasonLocalFIN,
	},
	{
		name:   "the client resets",
		end:    func(t *testing.T, _ *testnet.Network, client, _ *net.TCPConn) { linger0(t, client) },
		client: tcp.ReasonResetSent, server: tcp.ReasonResetReceived,
	},
	{
		name: "the server closes with data unread",
		end: func(t *testing.T, _ *testnet.Network, client, server *net.TCPConn) {
			before := testnet.Info(t, server).Bytes_received
			write(t, client, 100)
			testnet.Eventually(t, time.Minute, "the data to arrive",
				func() bool { return testnet.Info(t, server).Bytes_received == before+100 })
			server.Close()
		},
		client: tcp.ReasonResetReceived, server: tcp.ReasonResetSent,
	},
	{
		name: "nobody answers until the user's timeout",
		dial: testnet.Dial{Client: func(fd int) error {
			return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 400)
		}},
		end: func(t *testing.T, n *testnet.Network, client, _ *net.TCPConn) {
			n.Client.Out.Blackout(true)
			n.Server.Out.Blackout(true)
			write(t, client, 100)
			if err := client.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Read(make([]byte, 1)); err == nil {
				t.Error("the read did not end with an error")
			}
		},
		client: tcp.ReasonTimedOut,
	},
	{
		name: "the administrator kills the socket",
		end: func(t *testing.T, n *testnet.Network, client, _ *net.TCPConn) {
			err := n.Client.Do(func() error { return netlink.SocketDestroy(client.LocalAddr(), client.RemoteAddr()) })
			if errors.Is(err, unix.EOPNOTSUPP) {
				t.Skip("the kernel has no CONFIG_INET_DIAG_DESTROY")
			}
			if err != nil {
				t.Fatalf("killing the socket: %v", err)
			}
		},
		client: tcp.ReasonAborted, server: tcp.ReasonResetReceived,
	},
}

func TestEachEndHasItsReason(t *testing.T) {
	for _, c := range endings {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 0)
			obs := observeNetwork(t, n, Options{})
			client, server := n.Connect(c.dial)
			send(t, client, server, 1000)
			c.end(t, n, client, server)
			clientAddrs := [2]net.Addr{client.LocalAddr(), client.RemoteAddr()}
			obs.await(time.Minute, "the client's end", func(r *recording) bool {
				f, ok := r.find(clientAddrs[0], clientAddrs[1])
				return ok && len(r.of(f.ID, tcp.EventClose)) > 0
			})
			n.Settle(settled)
			client.Close()
			obs.check(func(t *testing.T, r *recording) {
				for _, end := range []struct {
					conn *net.TCPConn
					want tcp.Reason
				}{{client, c.client}, {server, c.server}} {
					if end.want == tcp.ReasonNone {
						continue
					}
					events := r.events[r.flow(t, end.conn).ID]
					opened := ofKind(events, tcp.EventOpen)
					closed := ofKind(events, tcp.EventClose)
					if len(opened) != 1 || tcp.State(opened[0].To) != tcp.StateEstablished {
						t.Errorf("%s: opened %+v", end.conn.LocalAddr(), opened)
					}
					if len(closed) != 1 || closed[0].Reason != end.want {
						t.Errorf("%s: closed %+v, want once by %s", end.conn.LocalAddr(), closed, end.want)
					}
					if last := events[len(events)-1]; last.Kind != tcp.EventClose {
						t.Errorf("%s: the last event is %s", end.conn.LocalAddr(), last.Kind)
					}
				}
				// A socket that is closed again after its end is not a connection.
				if len(r.flows) != 2 {
					t.Errorf("%d flows, want 2: %v", len(r.flows), r.flows)
				}
			})
		})
	}
}

func TestAttemptsThatFail(t *testing.T) {
	// A blocking connect(): a process that polls may take the error away before the socket closes,
	// which the kernel announces first (ip_icmp_error) and acts upon then.
	attempt := func(n *testnet.Network, to netip.AddrPort, timeout time.Duration) error {
		return n.Client.Do(func() error {
			family := unix.AF_INET
			address := unix.Sockaddr(&unix.SockaddrInet4{Port: int(to.Port())})
			if to.Addr().Is4() {
				address.(*unix.SockaddrInet4).Addr = to.Addr().As4()
			} else {
				family = unix.AF_INET6
				address = &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
			}
			fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			limit := unix.NsecToTimeval(timeout.Nanoseconds())
			if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit); err != nil {
				return err
			}
			if err := unix.Connect(fd, address); err == nil {
				return fmt.Errorf("%s answered", to)
			}
			return nil
		})
	}
	for _, c := range []struct {
		name    string
		arrange func(t *testing.T, n *testnet.Network)
		to      string
		timeout time.Duration
		want    tcp.Reason
		again   bool // the SYN is sent again
	}{
		{"refused", nil, "10.77.0.2:1", time.Second, tcp.ReasonRefused, false},
		{"refused over IPv6", nil, "[fd77::2]:1", time.Second, tcp.ReasonRefused, false},
		{
			"unreachable", func(t *testing.T, n *testnet.Network) {
				if _, err := n.Client.Run("ip", "route", "add", "10.78.0.0/24", "via", "10.77.0.2"); err != nil {
					t.Fatal(err)
				}
				if _, err := n.Server.Run("ip", "route", "add", "unreachable", "10.78.0.0/24"); err != nil {
					t.Fatal(err)
				}
				if err := n.Server.Sysctl("net.ipv4.ip_forward", "1"); err != nil {
					t.Fatal(err)
				}
			}, "10.78.0.1:1", 5 * time.Second, tcp.ReasonUnreachable, false,
		},
		{
			"given up by the client after one SYN more",
			func(_ *testing.T, n *testnet.Network) { n.Client.Out.Blackout(true) },
			"10.77.0.2:1", 1500 * time.Millisecond, tcp.ReasonAborted, true,
		},
		{
			"given up by the kernel",
			func(t *testing.T, n *testnet.Network) {
				n.Client.Out.Blackout(true)
				sysctl(t, n, "net.ipv4.tcp_syn_retries", "1")
			},
			"10.77.0.2:1", 10 * time.Second, tcp.ReasonTimedOut, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// With a delay the answer does not come while connect() still holds the socket.
			n := newNetwork(t, 10*time.Millisecond)
			if c.arrange != nil {
				c.arrange(t, n)
			}
			obs := observeNetwork(t, n, Options{})
			before := counters(t, n.Client)["TCPSynRetrans"]
			if err := attempt(n, netip.MustParseAddrPort(c.to), c.timeout); err != nil {
				t.Fatal(err)
			}
			again := int(counters(t, n.Client)["TCPSynRetrans"] - before)
			obs.await(time.Minute, "the end", func(r *recording) bool {
				return len(ofKind(r.events[1], tcp.EventClose)) > 0
			})
			obs.check(func(t *testing.T, r *recording) {
				if len(r.flows) != 1 {
					t.Fatalf("%d flows, want 1: %v", len(r.flows), r.flows)
				}
				f := r.flows[1]
				events := r.events[1]
				// connect() sets the state before it has a port; the flow must have it all the
				// same.
				if f.Local.Port() == 0 || f.Remote != netip.MustParseAddrPort(c.to) || f.PID == 0 || f.Inherited {
					t.Errorf("flow %+v, want one from a port to %s", f, c.to)
				}
				closed := ofKind(events, tcp.EventClose)
				if len(closed) != 1 || closed[0].Reason != c.want || closed[0].From != uint8(tcp.StateSynSent) {
					t.Errorf("closed %+v, want once by %s", closed, c.want)
				}
				if opened := ofKind(events, tcp.EventOpen); len(opened) != 0 {
					t.Errorf("opened %+v, want never", opened)
				}
				causes := countCauses(events)
				if causes[tcp.CauseSYN] != again || len(causes) > 1 || (again > 0) != c.again {
					t.Errorf("retransmissions %v, the kernel sent %d SYNs again", causes, again)
				}
				if got := len(ofKind(events, tcp.EventTimeout)); got != again {
					t.Errorf("%d timeouts, want %d", got, again)
				}
				// The time of connect(), not that of the first hook with addresses.
				if took := closed[0].TimeNs - f.FirstNs; c.again && took < int64(time.Second) {
					t.Errorf("from first sight to the end %s, the attempt took over a second", time.Duration(took))
				}
			})
		})
	}
}

func TestTheSocketOfAFailedAttemptMayTryAgain(t *testing.T) {
	n := newNetwork(t, 0)
	obs := observeNetwork(t, n, Options{})
	listener, to, err := n.Server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	err = n.Client.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.Connect(fd, &unix.SockaddrInet4{Port: 1, Addr: n.Server.V4.As4()}); err != unix.ECONNREFUSED {
			return fmt.Errorf("first attempt: %w", err)
		}
		return unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: n.Server.V4.As4()})
	})
	if err != nil {
		t.Fatal(err)
	}
	obs.check(func(t *testing.T, r *recording) {
		var refused, opened int
		for id, f := range r.flows {
			if f.NetNS != n.Client.NetNS {
				continue
			}
			refused += len(r.of(id, tcp.EventClose)) * btoi(f.Remote.Port() == 1)
			opened += len(r.of(id, tcp.EventOpen)) * btoi(f.Remote == to)
		}
		if refused != 1 || opened != 1 {
			t.Errorf("%d refused and %d opened flows, want one of each: %v", refused, opened, r.flows)
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
