//go:build kernel

package bpf

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// meminfo reads SO_MEMINFO: the memory accounts of a socket (enum in
// include/uapi/linux/sock_diag.h).
func meminfo(t *testing.T, c *net.TCPConn) (m [9]uint32) {
	t.Helper()
	err := testnet.Control(c, func(fd int) error {
		size := uint32(unsafe.Sizeof(m))
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
			uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&size)), 0)
		if errno != 0 {
			return errno
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// memoryOf reads SO_MEMINFO of a socket, as fields.
func memoryOf(t *testing.T, c *net.TCPConn) map[tcp.Field]int64 {
	t.Helper()
	const rmem, rcvbuf, wmem, sndbuf, forward, queued, backlog = 0, 1, 2, 3, 4, 5, 7
	m := meminfo(t, c)
	return map[tcp.Field]int64{
		tcp.SendBufferBytes: int64(m[sndbuf]), tcp.ReceiveBufferBytes: int64(m[rcvbuf]),
		tcp.BacklogBytes:    int64(m[backlog]),
		tcp.SendMemoryBytes: int64(m[queued]), tcp.DeviceQueueBytes: int64(m[wmem]),
		tcp.ReceiveMemoryBytes: int64(m[rmem]),
		tcp.ForwardMemoryBytes: int64(int32(m[forward])),
	}
}

// queuesOf reads a socket's queues by ioctl, as fields.
func queuesOf(t *testing.T, c *net.TCPConn) map[tcp.Field]int64 {
	t.Helper()
	var unread, unacked, unsent int // unacked includes unsent
	err := testnet.Control(c, func(fd int) (err error) {
		for request, answer := range map[uint]*int{
			unix.SIOCINQ: &unread, unix.SIOCOUTQ: &unacked, unix.SIOCOUTQNSD: &unsent,
		} {
			*answer, err = unix.IoctlGetInt(fd, request)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return map[tcp.Field]int64{
		tcp.ReceiveQueuedBytes: int64(unread), tcp.SendQueuedBytes: int64(unacked), tcp.UnsentBytes: int64(unsent),
		tcp.UnackedBytes: int64(unacked - unsent),
	}
}

// expected reads TCP_INFO, SO_MEMINFO and the queues of a socket, as fields. Its busy and limited
// times hold only while the socket is quiet.
func expected(t *testing.T, c *net.TCPConn) map[tcp.Field]int64 {
	t.Helper()
	i := testnet.Info(t, c)
	ssthresh := int64(i.Snd_ssthresh)
	if ssthresh >= infiniteSsthresh {
		ssthresh = tcp.Absent
	}
	// tcpi_delivery_rate_app_limited, which package unix leaves out: a bit of the byte before
	// tcpi_rto.
	appLimited := *(*uint8)(unsafe.Add(unsafe.Pointer(i), unsafe.Offsetof(i.Rto)-1)) & 1
	want := map[tcp.Field]int64{
		tcp.StateField: int64(i.State), tcp.CAStateField: int64(i.Ca_state), tcp.Backoff: int64(i.Backoff),
		tcp.CwndPackets: int64(i.Snd_cwnd), tcp.SsthreshPackets: ssthresh, tcp.MSSBytes: int64(i.Snd_mss),
		tcp.InFlightPackets: int64(i.Unacked) - int64(i.Sacked) - int64(i.Lost) + int64(i.Retrans),
		tcp.LostOutPackets:  int64(i.Lost), tcp.SackedOutPackets: int64(i.Sacked),
		tcp.RetransOutPackets: int64(i.Retrans),
		tcp.ReorderingPackets: int64(i.Reordering), tcp.ReorderingSeen: int64(i.Reord_seen),
		tcp.SrttUs: int64(i.Rtt), tcp.RttvarUs: int64(i.Rttvar), tcp.MinRttUs: int64(i.Min_rtt),
		tcp.RTOUs:         int64(i.Rto),
		tcp.ReceiverRttUs: orAbsent(int64(i.Rcv_rtt), i.Rcv_rtt != 0), tcp.AppLimited: int64(appLimited),
		tcp.AckedBytes: int64(i.Bytes_acked), tcp.ReceivedBytes: int64(i.Bytes_received),
		tcp.SendWindowBytes: int64(i.Snd_wnd), tcp.ReceiveWindowBytes: int64(i.Rcv_wnd),
		tcp.OutOfOrderPackets: int64(i.Rcv_ooopack), tcp.DSackDups: int64(i.Dsack_dups),
		tcp.DeliveredPackets: int64(i.Delivered), tcp.DeliveredCEPackets: int64(i.Delivered_ce),
		tcp.RetransmitsPackets: int64(i.Total_retrans), tcp.RetransmittedBytes: int64(i.Bytes_retrans),
		tcp.DeliveryRateBps: int64(i.Delivery_rate) * 8, tcp.PacingRateBps: int64(i.Pacing_rate) * 8,
		tcp.BusyUs: int64(i.Busy_time), tcp.RwndLimitedUs: int64(i.Rwnd_limited),
		tcp.SndbufLimitedUs: int64(i.Sndbuf_limited),
	}
	maps.Copy(want, memoryOf(t, c))
	maps.Copy(want, queuesOf(t, c))
	if queued := want[tcp.UnsentBytes]; int64(i.Notsent_bytes) != queued {
		t.Fatalf("TCP_INFO says that %d bytes are not sent, the ioctl %d", i.Notsent_bytes, queued)
	}
	if !hasMember(ownTypes(t), "tcp_info", "tcpi_rcv_wnd") { // before Linux 6.2
		delete(want, tcp.ReceiveWindowBytes)
	}
	return want
}

// A segment's sample shows the socket as the segment before left it. TCP_INFO shows the same until
// the segment arrives.
func TestSamplesAgreeWithTCPInfo(t *testing.T) {
	for _, c := range []struct {
		name string
		dial testnet.Dial
	}{
		{"ipv4", testnet.Dial{CongestionControl: "cubic"}},
		{"ipv6", testnet.Dial{CongestionControl: "cubic", V6: true}},
		{"v4-mapped", testnet.Dial{CongestionControl: "reno", Mapped: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const rtt = 10 * time.Millisecond
			n := newNetwork(t, rtt)
			obs := observeNetwork(t, n, Options{})
			client, server := n.Connect(c.dial)
			n.Client.Out.DropData(30, 2)
			send(t, client, server, 1448*300+17)
			send(t, server, client, 1448*20)
			still(t, client, server)
			wantClient := expected(t, client)
			send(t, server, client, 1)
			still(t, client, server)
			wantServer := expected(t, server)
			send(t, client, server, 1)
			if wantClient[tcp.RetransmitsPackets] == 0 || wantClient[tcp.SsthreshPackets] == tcp.Absent {
				t.Fatalf("the losses left no trace: %v", wantClient)
			}
			if wantServer[tcp.ReceiverRttUs] == tcp.Absent {
				t.Fatalf("the receiver has measured no round-trip time: %v", wantServer)
			}
			undelayed := n.Client.Out.Counts().HoldFailed + n.Server.Out.Counts().HoldFailed
			obs.check(func(t *testing.T, r *recording) {
				for _, end := range []struct {
					name string
					conn *net.TCPConn
					want map[tcp.Field]int64
					data int // place of the one byte's sample, from the end
				}{{"client", client, wantClient, 1}, {"server", server, wantServer, 1}} {
					f := r.flow(t, end.conn)
					var got *tcp.Sample
					for _, s := range r.packets(f.ID) {
						if s.Values[tcp.SegmentBytes] == 1 {
							got = &s
						}
					}
					if got == nil {
						t.Fatalf("%s: the one byte caused no sample", end.name)
					}
					for field, want := range end.want {
						v := got.Values[field]
						if field == tcp.DeliveryRateBps {
							v = v / 8 * 8 // the kernel rounds to bytes
						}
						if v != want {
							t.Errorf("%s: %s is %d, the socket said %d", end.name, field, v, want)
						}
					}
					if got.Values[tcp.Direction] != tcp.DirectionData || got.Values[tcp.TCPFlags]&16 == 0 {
						t.Errorf("%s: direction %d, flags %#x", end.name, got.Values[tcp.Direction],
							got.Values[tcp.TCPFlags])
					}
				}
				sender := r.flow(t, client)
				if undelayed == 0 {
					roundTrips(t, sender.FirstNs, r.packets(sender.ID), rtt)
				}
				limits(t, r.samples[sender.ID], r.samples[r.flow(t, server).ID])
			})
		})
	}
}

// While nobody reads, a socket holds its waiting data and its reserved memory.
func TestMemoryAgreesWithTheSocket(t *testing.T) {
	n := newNetwork(t, 0)
	obs := observeNetwork(t, n, Options{})
	small := func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 16<<10) }
	client, server := n.Connect(testnet.Dial{Server: small})
	if err := client.SetWriteBuffer(256 << 10); err != nil {
		t.Fatal(err)
	}
	write(t, client, 3000)
	still(t, client)
	unread := memoryOf(t, server)
	maps.Copy(unread, queuesOf(t, server))
	write(t, client, 1)
	quiet(t, client)
	write(t, client, 100_000)
	testnet.Eventually(t, time.Minute, "the server to close its window",
		func() bool { return testnet.Info(t, client).Snd_wnd == 0 })
	timersEnd(t, client)
	unsent := memoryOf(t, client)
	maps.Copy(unsent, queuesOf(t, client))
	write(t, server, 2)
	quiet(t, server)
	if unread[tcp.ReceiveMemoryBytes] < 3000 || unsent[tcp.SendMemoryBytes] < 30_000 ||
		unread[tcp.ForwardMemoryBytes]+unsent[tcp.ForwardMemoryBytes] == 0 {
		t.Fatalf("this shows nothing: %v, %v", unread, unsent)
	}
	if unread[tcp.ReceiveQueuedBytes] != 3000 || unsent[tcp.UnsentBytes] < 30_000 {
		t.Fatalf("nothing waits: %v, %v", unread, unsent)
	}
	obs.check(func(t *testing.T, r *recording) {
		for _, end := range []struct {
			conn    *net.TCPConn
			want    map[tcp.Field]int64
			segment int64 // the sample is of the segment with so many bytes
		}{{server, unread, 1}, {client, unsent, 2}} {
			rows := r.packets(r.flow(t, end.conn).ID)
			i := slices.IndexFunc(rows, func(s tcp.Sample) bool { return s.Values[tcp.SegmentBytes] == end.segment })
			if i < 0 {
				t.Fatalf("no sample of a segment of %d bytes", end.segment)
			}
			for field, want := range end.want {
				if got := rows[i].Values[field]; got != want {
					t.Errorf("segment of %d bytes: %s is %d, the socket said %d", end.segment, field, got, want)
				}
			}
		}
	})
}

// While no segment of a socket arrives, its counts of segments all differ from zero and
// from each other.
func TestSamplesAgreeWithTCPInfoWhileNothingArrives(t *testing.T) {
	t.Parallel()
	const attempts = 5
	for range attempts {
		if agreesWhileNothingArrives(t) {
			return
		}
	}
	t.Fatalf("in none of %d attempts did the socket come to such counts and was left alone between two timeouts",
		attempts)
}

// agreesWhileNothingArrives lets a socket run into timeouts and compares. False when a timeout came
// between what the socket said and the segment whose sample is to say the same, and when counts are
// alike.
func agreesWhileNothingArrives(t *testing.T) bool {
	const rtt = 20 * time.Millisecond
	n := newNetwork(t, 0)
	n.Server.Out.Delay(rtt) // the ACKs alone are late: the blackout begins before the first comes
	obs := observeNetwork(t, n, Options{})
	client, server := n.Connect(testnet.Dial{CongestionControl: "cubic"})
	send(t, client, server, 1)
	quiet(t, client)
	if err := client.SetWriteBuffer(512 << 10); err != nil { // the write does not wait for ACKs
		t.Fatal(err)
	}
	n.Client.Out.DropData(0, 7) // seven of the first window's ten
	write(t, client, 40*mss)
	n.Client.Out.Blackout(true)
	testnet.Eventually(
		t, 10*time.Second, "the timer to have doubled twice",
		func() bool { return testnet.Info(t, client).Backoff >= 2 },
	)
	want := expected(t, client)
	for _, f := range []tcp.Field{tcp.BusyUs, tcp.RwndLimitedUs, tcp.SndbufLimitedUs} {
		delete(want, f) // they run on
	}
	write(t, server, 1)
	testnet.Eventually(t, time.Minute, "the server's segment to arrive",
		func() bool { return testnet.Info(t, client).Bytes_received == 1 })
	obs.stop()
	left := testnet.Info(t, client).Total_retrans == uint32(want[tcp.RetransmitsPackets])
	for _, r := range obs.recordings {
		rows := r.packets(r.flow(t, client).ID)
		i := slices.IndexFunc(rows, func(s tcp.Sample) bool { return s.Values[tcp.SegmentBytes] == 1 })
		left = left && i >= 0 && rows[i].Values[tcp.RetransmitsPackets] == want[tcp.RetransmitsPackets]
	}
	if !left {
		t.Logf("played again: the timer ran out between the socket's answer and the segment")
		return false
	}
	if want[tcp.DeviceQueueBytes] > 0 {
		t.Logf("played again: a retransmission was still in the device when the socket answered")
		return false
	}
	counts := map[int64]bool{0: true}
	for _, f := range []tcp.Field{
		tcp.LostOutPackets, tcp.SackedOutPackets, tcp.RetransOutPackets, tcp.Backoff, tcp.CAStateField,
	} {
		if counts[want[f]] {
			t.Logf("played again: %s is %d as another is: %v", f, want[f], want)
			return false
		}
		counts[want[f]] = true
	}
	if want[tcp.CAStateField] != int64(tcp.CALoss) || want[tcp.UnackedBytes] == 0 || want[tcp.UnsentBytes] == 0 ||
		want[tcp.InFlightPackets] == 0 {
		t.Fatalf("this shows nothing: %v", want)
	}
	obs.check(func(t *testing.T, r *recording) {
		rows := r.packets(r.flow(t, client).ID)
		i := slices.IndexFunc(rows, func(s tcp.Sample) bool { return s.Values[tcp.SegmentBytes] == 1 })
		for field, want := range want {
			v := rows[i].Values[field]
			if field == tcp.DeliveryRateBps {
				v = v / 8 * 8 // the kernel rounds to bytes
			}
			if v != want {
				t.Errorf("%s is %d, the socket said %d", field, v, want)
			}
		}
	})
	return true
}

// still is quiet until no timer is left either: before Linux 6.0 a socket's timers give back its
// reserved memory, and run out after all that they were set for has been done.
func still(t *testing.T, conns ...*net.TCPConn) {
	t.Helper()
	quiet(t, conns...)
	timersEnd(t, conns...)
}

// timersEnd waits until no timer changes the memory of sockets. The probe of a closed window comes
// after 200 ms at first, and then more seldom.
func timersEnd(t *testing.T, conns ...*net.TCPConn) {
	t.Helper()
	testnet.Still(t, 300*time.Millisecond, "the memory of the sockets", func() string {
		var all []map[tcp.Field]int64
		for _, c := range conns {
			all = append(all, memoryOf(t, c))
		}
		return fmt.Sprint(all)
	})
}

// roundTrips holds the latest round-trip time against what cannot be otherwise: it is longer than
// the path's delay, and shorter than there has been a connection. TCP_INFO does not tell it. It may
// be below the smallest, which takes no notice of ACKs that may have been delayed
// (tcp_update_rtt_min in tcp_input.c).
func roundTrips(t *testing.T, firstNs int64, rows []tcp.Sample, path time.Duration) {
	t.Helper()
	values := map[int64]bool{}
	for i, s := range rows {
		rtt, measured := s.Get(tcp.RttUs)
		if !measured {
			t.Fatalf("sample %d of the end that connected has no round-trip time", i)
		}
		values[rtt] = true
		if rtt < path.Microseconds() || rtt > (s.TimeNs-firstNs)/1000 {
			t.Fatalf("sample %d, after %d µs over a path of %v: the latest round-trip time is %d µs", i,
				(s.TimeNs-firstNs)/1000, path, rtt)
		}
	}
	if len(values) < 10 {
		t.Errorf("%d different round-trip times in %d samples", len(values), len(rows))
	}
}

// limits holds the flags against a transfer of many windows: cwnd is its limit and not the
// application, which are the other way round at a socket that is just open.
func limits(t *testing.T, sender, receiver []tcp.Sample) {
	t.Helper()
	for _, rows := range [][]tcp.Sample{sender, receiver} {
		if first := rows[0].Values; first[tcp.CwndLimited] != 0 || first[tcp.AppLimited] != 1 {
			t.Errorf("just open: limited by cwnd %d, by the application %d, want 0 and 1", first[tcp.CwndLimited],
				first[tcp.AppLimited])
		}
	}
	if !slices.ContainsFunc(
		sender, func(s tcp.Sample) bool { return s.Values[tcp.CwndLimited] == 1 && s.Values[tcp.AppLimited] == 0 },
	) {
		t.Error("no sample of the sender says that cwnd and not the application was the limit")
	}
}

func TestEverySegmentIsSampled(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 0)
	obs := observeNetwork(t, n, Options{})
	before := counters(t, n.Client)
	beforeServer := counters(t, n.Server)
	client, server := n.Connect(testnet.Dial{CongestionControl: "cubic"})
	n.Client.Out.DropEvery(200)
	send(t, client, server, 4<<20)
	quiet(t, client, server)
	sent := testnet.Info(t, client)
	received := testnet.Info(t, server)
	// Segments that wait while a process holds the socket may be joined.
	joined := counters(t, n.Client)["TCPBacklogCoalesce"] - before["TCPBacklogCoalesce"]
	joinedServer := counters(t, n.Server)["TCPBacklogCoalesce"] - beforeServer["TCPBacklogCoalesce"]
	seen := n.Server.Out.Counts()
	obs.check(func(t *testing.T, r *recording) {
		// Not in ESTABLISHED: the SYN-ACK at the client, the last ACK of the handshake at the
		// server.
		client := r.flow(t, client)
		server := r.flow(t, server)
		if got, want := len(r.packets(client.ID)), int(sent.Segs_in)-1-int(joined); got != want {
			t.Errorf("the sender has %d samples, its socket took in %d segments of which %d were joined", got,
				sent.Segs_in, joined)
		}
		if got, want := len(r.packets(server.ID)), int(received.Segs_in)-1-int(joinedServer); got > want ||
			got < want-2 {
			t.Errorf("the receiver has %d samples, its socket took in %d segments of which %d were joined", got,
				received.Segs_in, joinedServer)
		}
		if got, want := len(r.packets(client.ID)), int(seen.Acks+seen.Data)-int(joined); got != want {
			t.Errorf("the sender has %d samples, %+v came over the wire and %d were joined", got, seen, joined)
		}
		var payload int64
		acked := int64(-1)
		highest := int64(-1)
		for _, s := range r.packets(server.ID) {
			payload += s.Values[tcp.SegmentBytes]
		}
		for i, s := range r.packets(client.ID) {
			if s.Values[tcp.AckedBytes] < acked {
				t.Fatalf("sample %d: acked_bytes falls from %d to %d", i, acked, s.Values[tcp.AckedBytes])
			}
			acked = s.Values[tcp.AckedBytes]
			if ack := s.Values[tcp.AckBytes]; ack < 0 || ack > 4<<20+2 {
				t.Fatalf("sample %d: ack_bytes is %d", i, ack)
			} else {
				highest = max(highest, ack) // ACKs that two processors send may overtake each other
			}
		}
		if want := int64(4 << 20); payload < want || highest != want+1 {
			t.Errorf("payload %d, highest ACK %d, sent %d and a SYN", payload, highest, want)
		}
		windows(t, r.packets(client.ID))
		// Missed ones may be of other connections of this machine; of this one they would be
		// missing above.
		if n := r.loss.Total() - r.loss.Missed; n != 0 {
			t.Errorf("%d records lost", n)
		}
	})
}

// windows holds the windows that segments advertise against those that the socket takes from them,
// which the next row shows: of a segment that acknowledges more the socket takes it in any case
// (tcp_may_update_window in tcp_input.c).
func windows(t *testing.T, rows []tcp.Sample) {
	t.Helper()
	others := 0
	for i := range len(rows) - 1 {
		s := &rows[i]
		next := &rows[i+1]
		if s.Values[tcp.AckBytes] <= s.Values[tcp.AckedBytes] {
			continue
		}
		advertised := s.Values[tcp.PeerWindowBytes]
		others += btoi(advertised != s.Values[tcp.SendWindowBytes])
		if taken := next.Values[tcp.SendWindowBytes]; taken != advertised {
			t.Fatalf("sample %d: the segment advertises %d bytes, the socket takes them for %d", i, advertised, taken)
		}
	}
	if others == 0 {
		t.Errorf("no segment of %d advertises another window than the one before, so this test shows nothing",
			len(rows))
	}
}

func TestAddressesKeepTheSocketsFamily(t *testing.T) {
	n := newNetwork(t, 0)
	obs := observeNetwork(t, n, Options{})
	type ends struct{ client, server *net.TCPConn }
	conns := map[string]ends{}
	for name, dial := range map[string]testnet.Dial{"ipv4": {}, "ipv6": {V6: true}, "v4-mapped": {Mapped: true}} {
		c, s := n.Connect(dial)
		send(t, c, s, 1)
		conns[name] = ends{c, s}
	}
	obs.check(func(t *testing.T, r *recording) {
		for name, c := range conns {
			for _, conn := range []*net.TCPConn{c.client, c.server} {
				f := r.flow(t, conn)
				local := f.Local.Addr()
				remote := f.Remote.Addr()
				if local.Is4() != (name == "ipv4") || remote.Is4() != (name == "ipv4") ||
					local.Is4In6() != (name == "v4-mapped") || remote.Is4In6() != (name == "v4-mapped") {
					t.Errorf("%s: %s > %s", name, local, remote)
				}
				want := n.Client.NetNS
				if conn == c.server {
					want = n.Server.NetNS
				}
				if f.NetNS != want {
					t.Errorf("%s: namespace %d, want %d", name, f.NetNS, want)
				}
				if f.Inherited {
					t.Errorf("%s: %s is said to be inherited", name, &f)
				}
			}
		}
		if len(r.flows) != 6 {
			t.Errorf("%d flows, want 6: %v", len(r.flows), r.flows)
		}
	})
}

func TestSamplesAtChangesOfStateShowTheNewState(t *testing.T) {
	n := newNetwork(t, 0)
	obs := observeNetwork(t, n, Options{})
	client, server := n.Connect(testnet.Dial{})
	send(t, client, server, 100)
	client.Close()
	server.Close()
	obs.check(func(t *testing.T, r *recording) {
		var states []tcp.State
		for _, s := range r.samples[r.flow(t, client).ID] {
			if _, packet := s.Get(tcp.AckBytes); !packet {
				states = append(states, tcp.State(s.Values[tcp.StateField]))
			}
		}
		if len(states) < 4 || states[0] != tcp.StateEstablished || states[1] != tcp.StateFinWait1 ||
			states[len(states)-1] != tcp.StateClose {
			t.Errorf("states %v, want established, fin_wait1, ... close", states)
		}
	})
}

// tcp_probe fires on established connections only: of one that the peer has closed its half of
// there are the changes of state and what has a hook of its own, while this end goes on sending.
func TestAHalfClosedConnectionHasNoRowsOfSegments(t *testing.T) {
	n := newNetwork(t, 20*time.Millisecond)
	obs := observeNetwork(t, n, Options{})
	client, server := n.Connect(testnet.Dial{CongestionControl: "cubic"})
	send(t, client, server, 1)
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(
		t, 5*time.Second, "the FIN",
		func() bool { return tcp.State(testnet.Info(t, server).State) == tcp.StateCloseWait },
	)
	n.Server.Out.DropData(20, 1)
	send(t, server, client, 100*mss)
	quiet(t, server)
	again := int(testnet.Info(t, server).Total_retrans)
	if again == 0 {
		t.Fatal("nothing was lost, so this shows too little")
	}
	obs.check(func(t *testing.T, r *recording) {
		f := r.flow(t, server)
		changes := r.of(f.ID, tcp.EventState)
		if len(changes) != 1 || tcp.State(changes[0].To) != tcp.StateCloseWait {
			t.Fatalf("changes of state %+v, want to close_wait alone", changes)
		}
		for _, s := range r.packets(f.ID) {
			if s.TimeNs > changes[0].TimeNs {
				t.Errorf("a segment in %s made a row", tcp.State(s.Values[tcp.StateField]))
			}
		}
		if _, segments := retransmissions(r.events[f.ID]); segments != again {
			t.Errorf("%d retransmissions were told, the socket counts %d", segments, again)
		}
	})
}

// Without window scaling the kernel keeps a greater window for itself than it can advertise.
func TestTheReceiveWindowIsTheAdvertisedOne(t *testing.T) {
	n := newNetwork(t, 10*time.Millisecond)
	sysctl(t, n, "net.ipv4.tcp_window_scaling", "0")
	obs := observeNetwork(t, n, Options{})
	client, server := n.Connect(testnet.Dial{CongestionControl: "cubic"})
	send(t, client, server, 1448*3000)
	still(t, client, server)
	if kept := testnet.Info(t, server).Rcv_wnd; kept <= 65535 {
		t.Fatalf("the kernel keeps a window of %d bytes: this tests nothing", kept)
	}
	send(t, client, server, 1)
	obs.check(func(t *testing.T, r *recording) {
		all := r.packets(r.flow(t, server).ID)
		for _, s := range all {
			if v := s.Values[tcp.ReceiveWindowBytes]; v > 65535 {
				t.Fatalf("a window of %d bytes", v)
			}
		}
		if last := all[len(all)-1].Values[tcp.ReceiveWindowBytes]; last < 60_000 {
			t.Errorf("the last window is %d bytes", last)
		}
	})
}
