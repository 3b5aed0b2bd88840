//go:build kernel

package bpf

import (
	"net"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// lossScenario makes one thing go wrong on a path and says which events must tell of it.
type lossScenario struct {
	name    string
	rtt     time.Duration
	cc      string // cubic when ""
	sysctls map[string]string
	drive   func(t *testing.T, n *testnet.Network, client, server *net.TCPConn)
	// happened are the kernel's own counts by which the scenario has gone as meant. Where they say
	// otherwise the machine stood still for longer than the path's delays can bear, and the
	// scenario is played again.
	happened counts
	// judge is told whether changes of the congestion state show at the next ACK only, as before
	// Linux 5.19.
	judge func(t *testing.T, events []tcp.Event, late bool)
	// rows judges the sender's samples that segments caused; it may be nil.
	rows func(t *testing.T, rows []tcp.Sample)
}

// counts are SNMP counters of the sender's namespace; "undone" is the sum of the four that count
// undone reductions, and a counter that is not named must be 0 when it is one of quietCounters.
type counts map[string]int

// quietCounters count what disturbs a scenario that does not ask for it.
var quietCounters = []string{"TCPTimeouts", "TCPLossProbes", "TCPSpuriousRtxHostQueues"}

func (c counts) hold(counter func(name string) int) bool {
	for name, want := range c {
		got := 0
		if name == "undone" {
			got = undoneCount(counter)
		} else {
			got = counter(name)
		}
		if got != want && want != anyNumber && (want != atLeastOnce || got == 0) {
			return false
		}
	}
	for _, name := range quietCounters {
		if _, asked := c[name]; !asked && counter(name) != 0 {
			return false
		}
	}
	return true
}

// Counts that leave room.
const (
	atLeastOnce = -1
	anyNumber   = -2
)

func undoneCount(counter func(name string) int) int {
	return counter("TCPFullUndo") + counter("TCPPartialUndo") + counter("TCPDSACKUndo") + counter("TCPLossUndo")
}

const mss = 1448

var lossScenarios = []lossScenario{
	{
		name: "a lost segment is sent again fast", rtt: 20 * time.Millisecond,
		drive: func(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
			n.Client.Out.DropData(20, 1)
			send(t, client, server, 100*mss)
		},
		happened: counts{"RetransSegs": 1, "TCPFastRetrans": 1},
		judge: func(t *testing.T, events []tcp.Event, late bool) {
			wantCauses(t, events, map[tcp.Cause]int{tcp.CauseFast: 1})
			again := ofKind(events, tcp.EventRetransmit)[0]
			sacks := ofKind(events, tcp.EventSack)
			if len(sacks) < 3 {
				t.Fatalf("%d ACKs with SACK, want at least 3", len(sacks))
			}
			first := sacks[0] // the receiver may have joined several segments
			states := []tcp.CAState{tcp.CAOpen, tcp.CADisorder, tcp.CARecovery, tcp.CAOpen}
			// Disorder may be left out: the reordering timer may run before an ACK shows it, and
			// an ACK that tells of three segments is the third duplicate (RFC 6675, DupThresh).
			joined := first.Blocks[0].End-first.Blocks[0].Start >= 3*mss
			if mayBeLate := late && again.Cause == tcp.CauseRACKTimer; (mayBeLate || joined) &&
				!slices.Contains(statesOf(events), tcp.CADisorder) {
				states = slices.Delete(states, 1, 2)
			}
			wantStates(t, events, states...)
			// The SYN counts as the first byte of the stream.
			if again.Seq != 20*mss+1 || again.EndSeq != 21*mss+1 || again.CAState != tcp.CARecovery {
				t.Errorf("sent again: %d to %d in %s, want the 21st segment in recovery", again.Seq, again.EndSeq,
					again.CAState)
			}
			if b := first.Blocks[0]; first.NumBlocks != 1 || b.Start != 21*mss+1 || b.End < 22*mss+1 ||
				first.Seq != 20*mss+1 {
				t.Errorf("first SACK: %d blocks, %+v behind %d, want one from %d behind %d", first.NumBlocks, b,
					first.Seq, 21*mss+1, 20*mss+1)
			}
		},
	},
	{
		name: "without SACK duplicate ACKs tell of the loss", rtt: 20 * time.Millisecond,
		sysctls: map[string]string{"net.ipv4.tcp_sack": "0"},
		drive: func(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
			n.Client.Out.DropData(20, 1)
			send(t, client, server, 60*mss)
		},
		happened: counts{"RetransSegs": 1, "TCPFastRetrans": 1},
		judge: func(t *testing.T, events []tcp.Event, _ bool) {
			if n := len(ofKind(events, tcp.EventDupAck)); n < 3 {
				t.Errorf("%d duplicate ACKs, want at least 3", n)
			}
			if n := len(ofKind(events, tcp.EventSack, tcp.EventDsack)); n != 0 {
				t.Errorf("%d ACKs with SACK on a connection without it", n)
			}
			wantCauses(t, events, map[tcp.Cause]int{tcp.CauseFast: 1})
		},
	},
	{
		name: "every timeout in a row counts, with its doubled RTO", rtt: 20 * time.Millisecond,
		drive: func(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
			n.Client.Out.Blackout(true)
			write(t, client, 10*mss)
			testnet.Eventually(
				t, 20*time.Second, "three timeouts", func() bool { return testnet.Info(t, client).Backoff >= 3 },
			)
			n.Client.Out.Blackout(false)
			receive(t, server, 10*mss)
		},
		happened: counts{"TCPTimeouts": atLeastOnce, "TCPLossProbes": 1},
		judge: func(t *testing.T, events []tcp.Event, _ bool) {
			timeouts := ofKind(events, tcp.EventTimeout)
			if len(timeouts) < 3 {
				t.Fatalf("%d timeouts, want at least 3", len(timeouts))
			}
			for i, e := range timeouts {
				if i >= 3 && e.Value < timeouts[i-1].Value {
					break // another row, of a machine that stood still after the blackout
				}
				if want := timeouts[0].Value << i; e.Value < want-4000 || e.Value > want+4000*int64(1+i) ||
					e.Code != tcp.CodeTimeout {
					t.Errorf("timeout %d after %d µs with code %d, want some %d", i, e.Value, e.Code, want)
				}
			}
			causes := countCauses(events)
			if causes[tcp.CauseRTO] != len(timeouts) || causes[tcp.CauseTLP] != 1 || causes[tcp.CauseRTORecovery] < 5 {
				t.Errorf("%v after %d timeouts, want a probe, one retransmission each, and the rest of the window",
					causes, len(timeouts))
			}
			states := statesOf(events)
			if !slices.Contains(states, tcp.CALoss) || states[len(states)-1] != tcp.CAOpen {
				t.Errorf("states %v, want to loss and back to open", states)
			}
		},
	},
	{
		name: "a tail-loss probe repairs the end of a burst", rtt: 20 * time.Millisecond,
		drive: func(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
			n.Client.Out.DropData(9, 1)
			send(t, client, server, 10*mss)
			// Only an ACK beyond the probe says that there was a loss to repair.
			send(t, client, server, 10*mss)
		},
		happened: counts{"RetransSegs": 1, "TCPLossProbes": 1, "TCPLossProbeRecovery": 1},
		judge: func(t *testing.T, events []tcp.Event, _ bool) {
			wantCauses(t, events, map[tcp.Cause]int{tcp.CauseTLP: 1})
			if n := len(ofKind(events, tcp.EventTLPLoss)); n != 1 {
				t.Errorf("%d repaired tail losses, want 1", n)
			}
			wantStates(t, events, tcp.CAOpen, tcp.CACWR, tcp.CAOpen)
			if n := len(ofKind(events, tcp.EventLocalCongestion, tcp.EventTimeout)); n != 0 {
				t.Errorf("%d events of local congestion or timeout", n)
			}
		},
	},
	{
		name: "a late segment is reordering", rtt: 100 * time.Millisecond,
		drive: func(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
			// Only two segments come behind it: too few for a retransmission before RACK's timer.
			n.Client.Out.HoldData(7, 1, 8*time.Millisecond)
			send(t, client, server, 10*mss)
			send(t, client, server, mss)
		},
		happened: counts{"RetransSegs": 0, "TCPSACKReorder": 1},
		judge: func(t *testing.T, events []tcp.Event, _ bool) {
			wantCauses(t, events, map[tcp.Cause]int{})
			reordered := ofKind(events, tcp.EventReordering)
			if len(reordered) != 1 || reordered[0].Code != tcp.CodeReordering || reordered[0].Value < 3 ||
				!reordered[0].FromSample {
				t.Errorf("reordering events %+v, want one with the degree of at least 3", reordered)
			}
		},
	},
	{
		name: "RACK's timer sends again what it waited for", rtt: 100 * time.Millisecond,
		drive: func(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
			// With two segments behind it RACK waits for a quarter of the RTT, and nothing else
			// comes meanwhile.
			n.Client.Out.DropData(7, 1)
			send(t, client, server, 10*mss)
		},
		happened: counts{"RetransSegs": 1, "TCPFastRetrans": 1},
		judge: func(t *testing.T, events []tcp.Event, _ bool) {
			wantCauses(t, events, map[tcp.Cause]int{tcp.CauseRACKTimer: 1})
		},
	},
	{
		name: "timestamps undo a fast retransmission that was not needed", rtt: 30 * time.Millisecond,
		drive: func(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
			n.Client.Out.HoldData(10, 1, 20*time.Millisecond)
			send(t, client, server, 20*mss)
			send(t, client, server, 10*mss)
		},
		happened: counts{"RetransSegs": 1, "undone": 1, "TCPDSACKUndo": 0},
		judge: func(t *testing.T, events []tcp.Event, _ bool) {
			wantCauses(t, events, map[tcp.Cause]int{tcp.CauseFast: 1})
			wantUndo(t, events, tcp.ReasonUndoTimestamp, tcp.CARecovery)
			// The receiver gets the segment twice and says so.
			duplicates := ofKind(events, tcp.EventDsack)
			if len(duplicates) != 1 || duplicates[0].Blocks[0] != (tcp.Block{Start: 10*mss + 1, End: 11*mss + 1}) {
				t.Errorf("DSACKs %+v, want one for the 11th segment", duplicates)
			}
		},
	},
	{
		name: "DSACK undoes a fast retransmission that was not needed", rtt: 30 * time.Millisecond,
		sysctls: map[string]string{"net.ipv4.tcp_timestamps": "0"},
		drive: func(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
			n.Client.Out.HoldData(10, 1, 20*time.Millisecond)
			send(t, client, server, 20*mss)
			n.Settle(settled)
			send(t, client, server, 10*mss)
		},
		happened: counts{"undone": 1, "TCPDSACKUndo": 1},
		judge: func(t *testing.T, events []tcp.Event, _ bool) {
			wantUndo(t, events, tcp.ReasonUndoDsack, tcp.CARecovery)
		},
	},
	{
		name: "late ACKs undo a timeout", rtt: 20 * time.Millisecond,
		sysctls:  map[string]string{"net.ipv4.tcp_early_retrans": "0"}, // no probe before the timeout
		drive:    lateAcks,
		happened: counts{"TCPTimeouts": 1, "undone": 1},
		judge: func(t *testing.T, events []tcp.Event, _ bool) {
			if n := len(ofKind(events, tcp.EventTimeout)); n != 1 {
				t.Errorf("%d timeouts, want 1", n)
			}
			wantUndo(t, events, tcp.ReasonUndoTimestamp, tcp.CALoss)
		},
	},
	{
		name: "F-RTO undoes a timeout without timestamps", rtt: 20 * time.Millisecond,
		sysctls:  map[string]string{"net.ipv4.tcp_early_retrans": "0", "net.ipv4.tcp_timestamps": "0"},
		drive:    lateAcks,
		happened: counts{"TCPTimeouts": 1, "undone": 1},
		judge: func(t *testing.T, events []tcp.Event, _ bool) {
			wantUndo(t, events, tcp.ReasonUndoTimestamp, tcp.CALoss)
		},
	},
	{
		name: "the own device's refusal is local congestion", rtt: 20 * time.Millisecond,
		drive: func(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
			n.Client.Out.RefuseData(20, 1)
			send(t, client, server, 100*mss)
		},
		happened: counts{"RetransSegs": 0},
		judge: func(t *testing.T, events []tcp.Event, late bool) {
			local := ofKind(events, tcp.EventLocalCongestion)
			if len(local) != 1 || local[0].Code != tcp.CodeLocalCongestion || local[0].FromSample != late {
				t.Errorf("local congestion: %+v, want one", local)
			}
			wantStates(t, events, tcp.CAOpen, tcp.CACWR, tcp.CAOpen)
			wantCauses(t, events, map[tcp.Cause]int{})
		},
	},
	{
		name: "a refused retransmission counts and says so", rtt: 20 * time.Millisecond,
		drive: func(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
			n.Client.Out.DropData(9, 1)
			writeWindow(t, n, client)
			n.Client.Out.RefuseData(0, 1) // the probe
			receive(t, server, 10*mss)
		},
		happened: counts{"RetransSegs": 2, "TCPRetransFail": 1, "TCPLossProbes": anyNumber, "TCPTimeouts": anyNumber},
		judge: func(t *testing.T, events []tcp.Event, late bool) {
			again := ofKind(events, tcp.EventRetransmit)
			if !tellsOfRefusals(t) {
				if len(again) != 1 || again[0].Reason != tcp.ReasonNone {
					t.Errorf("retransmissions %+v, want the one that went out", again)
				}
			} else if len(again) != 2 || again[0].Cause != tcp.CauseTLP ||
				again[0].Reason != tcp.ReasonDeviceRefused || again[1].Reason != tcp.ReasonNone {
				t.Errorf("retransmissions %+v, want a refused probe and one that went out", again)
			}
			local := 1
			if late && !tellsOfRefusals(t) {
				local = 0 // neither the refusal nor the CWR that it begins, which the timeout ends
			}
			if n := len(ofKind(events, tcp.EventLocalCongestion)); n != local {
				t.Errorf("%d events of local congestion, want %d", n, local)
			}
		},
	},
	{
		name: "a tail loss is repaired while the device's refusal reduces the window", rtt: 20 * time.Millisecond,
		drive: func(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
			n.Client.Out.DropData(9, 1)
			// the ACKs of the others come after the refused probe, and let one more be sent
			n.Server.Out.Delay(150 * time.Millisecond)
			writeWindow(t, n, client)
			n.Client.Out.RefuseData(0, 1)
			receive(t, server, 10*mss)
			quiet(t, client)
			n.Server.Out.Delay(10 * time.Millisecond)
			send(t, client, server, 1) // only an ACK beyond the probe says that there was a loss to repair
			quiet(t, client)
		},
		happened: counts{"RetransSegs": 2, "TCPRetransFail": 1, "TCPLossProbes": anyNumber, "TCPLossProbeRecovery": 1},
		judge: func(t *testing.T, events []tcp.Event, late bool) {
			if late && !tellsOfRefusals(t) {
				return // neither the refusal nor the CWR that it begins is told
			}
			wantStates(t, events, tcp.CAOpen, tcp.CACWR, tcp.CAOpen)
			if n := len(ofKind(events, tcp.EventLocalCongestion)); n != 1 {
				t.Errorf("%d events of local congestion, want 1", n)
			}
		},
	},
	{
		name: "marks are echoed", rtt: 20 * time.Millisecond,
		sysctls: map[string]string{"net.ipv4.tcp_ecn": "1"},
		drive: func(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
			n.Client.Out.MarkCE(20, 1)
			send(t, client, server, 100*mss)
		},
		happened: counts{"RetransSegs": 0},
		judge: func(t *testing.T, events []tcp.Event, _ bool) {
			if n := len(ofKind(events, tcp.EventECNEcho)); n != 1 {
				t.Errorf("%d echoes began, want 1", n)
			}
			wantStates(t, events, tcp.CAOpen, tcp.CACWR, tcp.CAOpen)
			if n := len(ofKind(events, tcp.EventLocalCongestion)); n != 0 {
				t.Errorf("%d events of local congestion", n)
			}
		},
		rows: func(t *testing.T, rows []tcp.Sample) {
			const ece = 64
			began := 0
			for i, s := range rows {
				began += btoi(s.Values[tcp.TCPFlags]&ece != 0 && (i == 0 || rows[i-1].Values[tcp.TCPFlags]&ece == 0))
			}
			if began != 1 {
				t.Errorf("segments with ECE begin %d times among %d, want once", began, len(rows))
			}
		},
	},
	{
		name: "a smaller path MTU is no timeout", rtt: 40 * time.Millisecond,
		drive: func(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
			n.Client.Out.Blackout(true)
			write(t, client, 5*mss)
			n.Client.Out.Blackout(false)
			reportMTU(t, n, client, 1200)
			receive(t, server, 5*mss)
		},
		judge: func(t *testing.T, events []tcp.Event, _ bool) {
			causes := countCauses(events)
			if causes[tcp.CauseOther] < 5 || len(causes) != 1 || len(ofKind(events, tcp.EventTimeout)) != 0 {
				t.Errorf("causes %v with %d timeouts, want other alone", causes, len(ofKind(events, tcp.EventTimeout)))
			}
			if states := statesOf(events); !slices.Contains(states, tcp.CALoss) {
				t.Errorf("states %v, want loss among them", states)
			}
		},
	},
	{
		name: "bbr goes through recovery too", rtt: 20 * time.Millisecond, cc: "bbr",
		drive: func(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
			n.Client.Out.DropData(20, 2)
			send(t, client, server, 100*mss)
		},
		happened: counts{"TCPFastRetrans": atLeastOnce},
		judge: func(t *testing.T, events []tcp.Event, _ bool) {
			if causes := fastByAckOrTimer(countCauses(events)); causes[tcp.CauseFast] == 0 || len(causes) != 1 {
				t.Errorf("causes %v, want fast alone", causes)
			}
		},
	},
}

// writeWindow writes ten segments and waits until they are on the way, long before a probe.
func writeWindow(t *testing.T, n *testnet.Network, client *net.TCPConn) {
	t.Helper()
	before := n.Client.Out.Counts().Data
	write(t, client, 10*mss)
	testnet.Eventually(t, time.Minute, "the segments to be on the way",
		func() bool { return n.Client.Out.Counts().Data == before+10 })
}

// lateAcks lets the ACKs of a window come after the retransmission timer. There is more to send
// than the window takes, which F-RTO needs.
func lateAcks(t *testing.T, n *testnet.Network, client, server *net.TCPConn) {
	t.Helper()
	send(t, client, server, 20*mss)
	quiet(t, client)
	n.Server.Out.Delay(320 * time.Millisecond)
	send(t, client, server, 60*mss)
	quiet(t, client)
	n.Server.Out.Delay(10 * time.Millisecond)
	send(t, client, server, mss)
}

// reportMTU tells the client by ICMP that its segments are too large for the path (RFC 1191).
func reportMTU(t *testing.T, n *testnet.Network, client *net.TCPConn, mtu uint16) {
	t.Helper()
	from := client.LocalAddr().(*net.TCPAddr).AddrPort()
	to := client.RemoteAddr().(*net.TCPAddr).AddrPort()
	i := testnet.Info(t, client)
	var una uint32
	// The message is believed when its sequence number lies within the window: find snd_una by
	// TCP_REPAIR.
	err := testnet.Control(client, func(fd int) error {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR, 1); err != nil {
			return err
		}
		defer func() { _ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR, -1) }()
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR_QUEUE, 2); err != nil {
			return err
		}
		end, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUEUE_SEQ)
		una = uint32(end) - i.Unacked*mss
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	src := from.Addr().As4()
	dst := to.Addr().As4()
	message := []byte{3, 4, 0, 0, 0, 0, byte(mtu >> 8), byte(mtu)}
	message = append(message, 0x45, 0, 5, 220, 0, 0, 0x40, 0, 64, unix.IPPROTO_TCP, 0, 0)
	message = append(append(message, src[:]...), dst[:]...)
	message = append(message, byte(from.Port()>>8), byte(from.Port()), byte(to.Port()>>8), byte(to.Port()))
	message = append(message, byte(una>>24), byte(una>>16), byte(una>>8), byte(una))
	var sum uint32
	for i := 0; i < len(message); i += 2 {
		sum += uint32(message[i])<<8 | uint32(message[i+1])
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	message[2] = byte(^sum >> 8)
	message[3] = byte(^sum)
	err = n.Server.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Sendto(fd, message, 0, &unix.SockaddrInet4{Addr: src})
	})
	if err != nil {
		t.Fatal(err)
	}
}
