//go:build kernel

package congestion

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/congestion/kind"
	"airtide/test/testnet"
)

// caLoss is TCP_CA_Loss of include/uapi/linux/tcp.h: the retransmission timer has run out.
const caLoss = 4

// unset is the slow start threshold before the first loss (TCP_INFINITE_SSTHRESH).
const unset = 0x7fffffff

// timeOut drops all segments of a transfer until the connection's retransmission timer has run out.
func timeOut(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
	t.Helper()
	n.Client.Out.Blackout(true)
	sent := make(chan error, 1)
	go func() { sent <- testnet.Send(client, server, 256<<10) }()
	testnet.Eventually(t, 20*time.Second, "the retransmission timer to run out", func() bool {
		return testnet.Info(t, client).Ca_state == caLoss
	})
	n.Client.Out.Blackout(false)
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

func TestEachKindIsChosenCarriesTrafficAndReactsToLoss(t *testing.T) {
	for _, k := range kind.All() {
		t.Run(string(k), func(t *testing.T) {
			l := mustLoad(t, k, k.Defaults())
			n := testnet.New(t, testnet.Options{Segments: true})
			n.Client.Out.Delay(4 * time.Millisecond)

			bySocket, bySocketServer := n.Connect(testnet.Dial{CongestionControl: l.Name})
			if err := n.Client.Sysctl("net.ipv4.tcp_congestion_control", l.Name); err != nil {
				t.Fatalf("as a namespace's default: %v", err)
			}
			bySysctl, bySysctlServer := n.Connect(testnet.Dial{})
			for how, pair := range map[string][2]*net.TCPConn{
				"TCP_CONGESTION": {bySocket, bySocketServer}, "sysctl": {bySysctl, bySysctlServer},
			} {
				client := pair[0]
				server := pair[1]
				if got := testnet.CongestionControl(t, client); got != l.Name {
					t.Fatalf("by %s the socket has %s, want %s", how, got, l.Name)
				}
				testnet.MustSend(t, client, server, 256<<10)
				free := testnet.Info(t, client)
				if free.Snd_cwnd <= 10 {
					t.Errorf("chosen by %s: cwnd %d, want growth from 10 packets", how, free.Snd_cwnd)
				}
				lost := free
				// On a busy machine the kernel may find the loss spurious and undo the reduction.
				for try := 0; try < 3 && (lost.Total_retrans == 0 || lost.Snd_ssthresh >= unset); try++ {
					n.Client.Out.DropData(20, 1)
					testnet.MustSend(t, client, server, 256<<10)
					lost = testnet.Info(t, client)
				}
				if lost.Total_retrans == 0 || lost.Snd_ssthresh >= unset {
					t.Errorf("chosen by %s: %d retransmissions and ssthresh %d after a loss, want one and less", how,
						lost.Total_retrans, lost.Snd_ssthresh)
				}
				n.Client.Out.DropData(0, 0)
			}
			timeOut(t, n, bySocket, bySocketServer)
			if got := testnet.CongestionControl(t, bySocket); got != l.Name {
				t.Errorf("congestion control after a timeout: got %s, want %s", got, l.Name)
			}
			// The server's socket of the first connection uses it too.
			if e := find(t, l.Name); e.Sockets < 3 {
				t.Errorf("counted %d sockets, want at least 3", e.Sockets)
			}
			for _, c := range []*net.TCPConn{bySocket, bySocketServer, bySysctl, bySysctlServer} {
				_ = c.SetLinger(0)
				c.Close()
			}
			testnet.Eventually(
				t, 10*time.Second, "no socket to use it", func() bool { return find(t, l.Name).Sockets == 0 },
			)
		})
	}
}

func find(t *testing.T, name string) *Entry {
	t.Helper()
	e, err := Find("", name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The count of sockets is right while a socket that sends changes its congestion control.
func TestChangingWhileSending(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	client, server := n.Connect(testnet.Dial{CongestionControl: "reno"})
	for _, k := range kind.All() {
		l := mustLoad(t, k, k.Defaults())
		for i, name := range []string{l.Name, "reno", l.Name, "cubic"} {
			testnet.SetCongestionControl(t, client, name)
			testnet.MustSend(t, client, server, 64<<10)
			if got, want := find(t, l.Name).Sockets, uint64(1-i%2); got != want {
				t.Errorf("%s: counted %d sockets after a change to %s, want %d", k, got, name, want)
			}
		}
	}
}

// The scaled CUBICs and Compound handle a timeout and their first ACKs without an RTT. The SYN is
// lost, so its answer gives no RTT (Karn), and then the whole first window is lost.
func TestRTTNeverSampled(t *testing.T) {
	for _, k := range []Kind{CubicRTT, CubicRTTK, Compound} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel() // each waits for the initial timeouts
			l := mustLoad(t, k, k.Defaults())
			n := testnet.New(t, testnet.Options{Segments: true})
			for _, h := range []*testnet.Host{n.Client, n.Server} {
				if err := h.Sysctl("net.ipv4.tcp_timestamps", "0"); err != nil {
					t.Fatal(err)
				}
			}
			n.Client.Out.Blackout(true)
			go func() {
				testnet.Await(time.Minute, func() bool {
					return n.Client.Out.Counts().Dropped > 0 || t.Context().Err() != nil
				})
				n.Client.Out.Blackout(false)
			}()
			client, server := n.Connect(testnet.Dial{CongestionControl: l.Name})
			if rtt := testnet.Info(t, client).Rtt; rtt != 0 {
				t.Fatalf("RTT after the handshake: got %d us, want none", rtt)
			}
			n.Client.Out.DropData(0, 10)
			testnet.MustSend(t, client, server, 256<<10)
			i := testnet.Info(t, client)
			if i.Rtt == 0 || i.Snd_cwnd < 2 || i.Total_retrans < 10 {
				t.Errorf("after the timeout: RTT %d us, cwnd %d, %d retransmissions, want an RTT, at least 2 and 10",
					i.Rtt, i.Snd_cwnd, i.Total_retrans)
			}
			if got := testnet.CongestionControl(t, client); got != l.Name {
				t.Errorf("congestion control: got %s, want %s", got, l.Name)
			}
		})
	}
}

// With a headroom the window stops a little above what the receiver's buffer lets be in flight. By
// the rule of today's kernels slow start grows it to twice that.
func TestHeadroomStopsTheWindow(t *testing.T) {
	const headroom = 3
	windows := map[uint32]uint32{}
	for _, h := range []uint32{0, headroom} {
		p := CubicPlain.Defaults()
		p.Headroom = h
		p.NoHyStart = true
		l := mustLoad(t, CubicPlain, p)
		if got := find(t, l.Name).Parameters.Headroom; got != h {
			t.Errorf("headroom of the loaded program: got %d, want %d", got, h)
		}
		n := testnet.New(t, testnet.Options{Segments: true})
		n.Client.Out.Delay(20 * time.Millisecond)
		client, server := n.Connect(testnet.Dial{CongestionControl: l.Name, Server: func(fd int) error {
			return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 64<<10)
		}})
		testnet.MustSend(t, client, server, 2<<20)
		i := testnet.Info(t, client)
		if i.Total_retrans > 0 {
			t.Errorf("headroom %d: %d retransmissions, want none", h, i.Total_retrans)
		}
		windows[h] = i.Snd_cwnd
	}
	if 4*windows[headroom] > 3*windows[0] {
		t.Errorf("cwnd: got %d with a headroom and %d without, want at most 0.75 of it",
			windows[headroom], windows[0])
	}
}
