//go:build kernel

package bpf

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
	"airtide/test/testnet"
)

func TestWindowsCloseAndOpen(t *testing.T) {
	n := newNetwork(t, 0)
	obs := observeNetwork(t, n, Options{})
	small := func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 8192) }
	client, server := n.Connect(testnet.Dial{Server: small})
	before := counters(t, n.Server)
	if err := client.SetWriteBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	const size = 40_000
	write(t, client, size)
	obs.await(time.Minute, "the server to say that its window is closed", func(r *recording) bool {
		f, ok := r.find(server.LocalAddr(), server.RemoteAddr())
		return ok && len(r.of(f.ID, tcp.EventLocalZeroWindow)) > 0
	})
	receive(t, server, size)
	quiet(t, client)
	closedWindow := int(counters(t, n.Server)["TCPToZeroWindowAdv"] - before["TCPToZeroWindowAdv"])
	obs.check(func(t *testing.T, r *recording) {
		sender := r.events[r.flow(t, client).ID]
		shut := ofKind(sender, tcp.EventZeroWindow)
		again := ofKind(sender, tcp.EventWindowOpen)
		if len(shut) != closedWindow || len(shut) == 0 || len(again) != len(shut) {
			t.Errorf("the window closed %d times and opened %d times, the server closed it %d times", len(shut),
				len(again), closedWindow)
		}
		for _, e := range again {
			if e.Value <= 0 {
				t.Errorf("opened to %d bytes", e.Value)
			}
		}
		local := ofKind(r.events[r.flow(t, server).ID], tcp.EventLocalZeroWindow)
		if len(local) == 0 || len(local) > closedWindow || !local[0].FromSample {
			t.Errorf("the server says %d times that it closed its window, it did so %d times", len(local), closedWindow)
		}
		var limited int64
		for _, s := range r.packets(r.flow(t, client).ID) {
			limited = max(limited, s.Values[tcp.RwndLimitedUs])
		}
		if limited < 100_000 {
			t.Errorf("limited by the peer's window for %d µs, want at least the first probe's 200 ms less one tick",
				limited)
		}
	})
}

func TestAResetClosesNoWindow(t *testing.T) {
	n := newNetwork(t, 0)
	obs := observeNetwork(t, n, Options{})
	client, server := n.Connect(testnet.Dial{})
	send(t, client, server, 10)
	linger0(t, client)
	obs.check(func(t *testing.T, r *recording) {
		for id := range r.flows {
			if e := r.of(id, tcp.EventZeroWindow, tcp.EventWindowOpen); len(e) != 0 {
				t.Errorf("windows %+v", e)
			}
		}
	})
}

func TestAChangeOfCongestionControlIsSeen(t *testing.T) {
	n := newNetwork(t, 0)
	obs := observeNetwork(t, n, Options{})
	client, server := n.Connect(testnet.Dial{CongestionControl: "cubic"})
	send(t, client, server, 100*mss)
	quiet(t, client)
	testnet.SetCongestionControl(t, client, "bbr")
	send(t, client, server, 100*mss)
	quiet(t, client)
	obs.check(func(t *testing.T, r *recording) {
		f := r.flow(t, client)
		changes := r.of(f.ID, tcp.EventCCChange)
		if f.CongestionControl != "cubic" || len(changes) != 1 || changes[0].Text != "bbr" || !changes[0].FromSample {
			t.Fatalf("first %q, changes %+v", f.CongestionControl, changes)
		}
		for _, s := range r.packets(f.ID) {
			_, cubic := s.Get(tcp.CubicCnt)
			_, bbr := s.Get(tcp.BBRMode)
			if before := s.TimeNs < changes[0].TimeNs; cubic != before || bbr == before {
				t.Fatalf("%d ns after the change: cubic's state there %t, bbr's %t", s.TimeNs-changes[0].TimeNs, cubic,
					bbr)
			}
		}
	})
}

// A buffer that a program has set is told apart from one that the kernel grows.
func TestBuffersThatProgramsSetAreTold(t *testing.T) {
	n := newNetwork(t, 0)
	obs := observeNetwork(t, n, Options{})
	client, server := n.Connect(testnet.Dial{})
	send(t, client, server, 50*mss)
	quiet(t, client)
	testnet.SetOption(t, client, unix.SOL_SOCKET, unix.SO_SNDBUF, 100_000)
	testnet.SetOption(t, server, unix.SOL_SOCKET, unix.SO_RCVBUF, 100_000)
	send(t, client, server, 50*mss)
	quiet(t, client)
	obs.check(func(t *testing.T, r *recording) {
		for of, fields := range map[*net.TCPConn][2]tcp.Field{
			client: {tcp.SendBufferFixed, tcp.ReceiveBufferFixed},
			server: {tcp.ReceiveBufferFixed, tcp.SendBufferFixed},
		} {
			rows := r.packets(r.flow(t, of).ID)
			first := rows[0].Values
			last := rows[len(rows)-1].Values
			if first[fields[0]] != 0 || last[fields[0]] != 1 || last[fields[1]] != 0 {
				t.Errorf("%s is %d and then %d, %s %d", fields[0], first[fields[0]], last[fields[0]], fields[1],
					last[fields[1]])
			}
		}
	})
}

// A send buffer that has reached tcp_wmem is told like one that a program has set.
func TestSendBuffersThatTcpWmemBoundsAreTold(t *testing.T) {
	for most, want := range map[string]int64{"16384": 1, "4194304": 0} {
		n := newNetwork(t, 0)
		sysctl(t, n, "net.ipv4.tcp_wmem", "4096 16384 "+most)
		obs := observeNetwork(t, n, Options{})
		client, server := n.Connect(testnet.Dial{})
		send(t, client, server, 50*mss)
		quiet(t, client)
		obs.check(func(t *testing.T, r *recording) {
			rows := r.packets(r.flow(t, client).ID)
			if got := rows[len(rows)-1].Values[tcp.SendBufferFixed]; got != want {
				t.Errorf("with at most %s bytes %s is %d", most, tcp.SendBufferFixed, got)
			}
		})
	}
}

// Without tcp_cong_state_set (before 5.19) states are compared at each ACK and retransmission.
func TestOlderKernelsTellTheSameStory(t *testing.T) {
	for _, lacks := range [][]string{
		{"tcp_cong_state_set"},
		{"tcp_cong_state_set", "tcp_receive_reset", "tcp_send_reset", "tcp_rcv_space_adjust"},
	} {
		t.Run(strings.Join(lacks, " "), func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 20*time.Millisecond)
			obs := observeNetwork(t, n, Options{lacks: lacks})
			for _, r := range obs.recordings {
				if d := r.source.Description(); !strings.Contains(d, lacks[0]) {
					t.Errorf("the description %q does not name what is missing", d)
				}
			}
			before := counters(t, n.Client)
			client, server := n.Connect(testnet.Dial{CongestionControl: "cubic"})
			n.Client.Out.DropData(20, 1)
			send(t, client, server, 100*mss)
			n.Client.Out.Blackout(true)
			write(t, client, 10*mss)
			testnet.Eventually(
				t, 5*time.Second, "two timeouts", func() bool { return testnet.Info(t, client).Backoff >= 2 },
			)
			n.Client.Out.Blackout(false)
			receive(t, server, 10*mss)
			send(t, client, server, 10)
			after := counters(t, n.Client)
			linger0(t, client)
			obs.check(func(t *testing.T, r *recording) {
				events := r.events[r.flow(t, client).ID]
				if got, want := len(ofKind(events, tcp.EventTimeout)), int(
					after["TCPTimeouts"]-before["TCPTimeouts"],
				); got != want {
					t.Errorf("%d timeouts, the kernel counts %d", got, want)
				}
				causes := countCauses(events)
				// A timeout may send nothing: when the segment is still in the own device's queue.
				// Whether an ACK or RACK's timer finds the loss first is a matter of milliseconds.
				timeouts := int(after["TCPTimeouts"] - before["TCPTimeouts"])
				if causes[tcp.CauseFast]+causes[tcp.CauseRACKTimer] != 1 || causes[tcp.CauseRTO] == 0 ||
					causes[tcp.CauseRTO] > timeouts {
					t.Errorf("causes %v with %d timeouts", causes, timeouts)
				}
				states := statesOf(events)
				for _, want := range []tcp.CAState{tcp.CARecovery, tcp.CALoss, tcp.CAOpen} {
					if !slices.Contains(states, want) {
						t.Errorf("states %v without %s", states, want)
					}
				}
				closed := ofKind(r.events[r.flow(t, server).ID], tcp.EventClose)
				if len(closed) != 1 || closed[0].Reason != tcp.ReasonResetReceived {
					t.Errorf("the server's end: %+v, want a reset received", closed)
				}
				r.logWhenFailed(t, events)
			})
		})
	}
}
