//go:build kernel

package bpf

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/tcp"
	"airtide/test/testnet"
)

func TestEachErrorIsToldByItsEvents(t *testing.T) {
	for _, c := range lossScenarios {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.until(t, Options{})
		})
	}
}

// The same where changes of the congestion state show at the next ACK only.
func TestEachErrorIsToldOnOlderKernels(t *testing.T) {
	for _, c := range lossScenarios {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.until(t, Options{lacks: []string{congStateSet}})
		})
	}
}

const congStateSet = "tcp_cong_state_set"

// until plays the scenario until it has come about.
func (c *lossScenario) until(t *testing.T, o Options) {
	const attempts = 8
	for range attempts {
		if c.play(t, o) {
			return
		}
	}
	t.Fatalf("by the kernel's counts the scenario did not come about in any of %d attempts", attempts)
}

// play plays the scenario once and judges it. False when the machine disturbed it.
func (c *lossScenario) play(t *testing.T, o Options) bool {
	n := newNetwork(t, c.rtt)
	for name, value := range c.sysctls {
		sysctl(t, n, name, value)
	}
	obs := observeNetwork(t, n, o)
	cc := c.cc
	if cc == "" {
		cc = "cubic"
	}
	before := counters(t, n.Client) // a SYN that is sent again disturbs a scenario too
	client, server := n.Connect(testnet.Dial{CongestionControl: cc})
	c.drive(t, n, client, server)
	quiet(t, client)
	for range 2 { // an ACK shows what the one before it did, and that one what a probe before it did
		send(t, client, server, 1)
		quiet(t, client)
	}
	after := counters(t, n.Client)
	counter := func(name string) int { return int(after[name] - before[name]) }
	end := testnet.Info(t, client)
	if !c.happened.hold(counter) {
		moved := map[string]int{}
		for name := range after {
			if n := counter(name); n != 0 && (strings.HasPrefix(name, "TCP") || name == "RetransSegs") {
				moved[name] = n
			}
		}
		t.Logf("played again: want %v, the kernel counts %v", c.happened, moved)
		obs.stop()
		return false
	}
	obs.stop()
	untold := 0
	if !tellsOfRefusals(t) {
		untold = counter("TCPRetransFail")
	}
	if obs.silentTracepoint(t, client, counter("RetransSegs")-untold) {
		return false
	}
	obs.check(func(t *testing.T, r *recording) {
		id := r.flow(t, client).ID
		events := r.events[id]
		rows := r.packets(id)
		c.judge(t, events, strings.Contains(r.source.Description(), congStateSet))
		if c.rows != nil {
			c.rows(t, rows)
		}
		compareBlocks(t, events, rows)
		compareWithKernel(t, events, counter, untold, int64(end.Reord_seen))
		r.logWhenFailed(t, events)
	})
	return true
}

func (r *recording) logWhenFailed(t *testing.T, events []tcp.Event) {
	t.Helper()
	if !t.Failed() {
		return
	}
	t.Logf("lost: %+v", r.loss)
	for _, e := range events {
		t.Logf("%.1f ms: %s in %s, %s %s, %d>%d, %d-%d, value %d, cwnd %d, %+v", float64(e.TimeNs-events[0].TimeNs)/1e6,
			e.Kind, e.CAState, e.Cause, e.Reason, e.From, e.To, e.Seq, e.EndSeq, e.Value, e.CwndPackets,
			e.Blocks[:e.NumBlocks])
	}
}

// silentTracepoint reports whether every observer saw the same retransmissions and one less than
// the kernel counts. About once in 600 timeouts Linux 6.18 calls neither tcp_cong_state_set nor
// tcp_retransmit_skb, for no observer (the kernel's own trace events were silent too).
func (o *observation) silentTracepoint(t *testing.T, client net.Conn, kernel int) bool {
	t.Helper()
	for _, r := range o.recordings {
		_, segments := retransmissions(r.events[r.flow(t, client).ID])
		if segments != kernel-1 {
			return false
		}
	}
	t.Logf("played again: a retransmission without its tracepoint")
	return true
}

// retransmissions counts retransmitted segments by cause, as the kernel does. One event may carry
// several.
func retransmissions(events []tcp.Event) (causes map[tcp.Cause]int, segments int) {
	causes = map[tcp.Cause]int{}
	for _, e := range ofKind(events, tcp.EventRetransmit) {
		n := int(e.Value)
		causes[e.Cause] += n
		segments += n
	}
	return causes, segments
}

// With Accurate ECN (after kernel 6.18) the ECE bit belongs to a counter; a mark must not be taken
// for local congestion.
func TestAccurateECNIsNoLocalCongestion(t *testing.T) {
	n := newNetwork(t, 20*time.Millisecond)
	if err := n.Client.Sysctl("net.ipv4.tcp_ecn", "3"); err != nil {
		t.Skipf("needs Accurate ECN, which kernels after 6.18 have: %v", err)
	}
	sysctl(t, n, "net.ipv4.tcp_ecn", "3")
	obs := observeNetwork(t, n, Options{})
	client, server := n.Connect(testnet.Dial{CongestionControl: "cubic"})
	n.Client.Out.MarkCE(20, 2)
	send(t, client, server, 100*mss)
	quiet(t, client)
	send(t, client, server, 1)
	obs.check(func(t *testing.T, r *recording) {
		f := r.flow(t, client)
		events := r.events[f.ID]
		if states := statesOf(events); !slices.Contains(states, tcp.CACWR) {
			t.Errorf("states %v, want cwr among them", states)
		}
		if e := ofKind(events, tcp.EventLocalCongestion, tcp.EventECNEcho); len(e) != 0 {
			t.Errorf("events %+v", e)
		}
		if n := r.last(t, f.ID).Values[tcp.DeliveredCEPackets]; n != 2 {
			t.Errorf("%d marks delivered, want 2", n)
		}
	})
}

func tellsOfRefusals(t *testing.T) bool {
	t.Helper()
	return TellsOfRefusals(ownTypes(t))
}

// compareWithKernel holds the events of the namespace's only sender against the kernel's own
// counts, of which some retransmissions are not told by an event.
func compareWithKernel(
	t *testing.T, events []tcp.Event, counter func(name string) int, untold int, reorderingSeen int64,
) {
	t.Helper()
	causes, segments := retransmissions(events)
	recoveries := 0
	for _, e := range ofKind(events, tcp.EventCAState) {
		if tcp.CAState(e.To) == tcp.CARecovery {
			recoveries++
		}
	}
	for _, c := range []struct {
		what string
		got  int
		want int
	}{
		{"retransmitted segments", segments, counter("RetransSegs") - untold},
		{"timeouts", len(ofKind(events, tcp.EventTimeout)), counter("TCPTimeouts")},
		{"fast retransmissions", causes[tcp.CauseFast] + causes[tcp.CauseRACKTimer], counter("TCPFastRetrans")},
		{
			"retransmissions after a timeout", causes[tcp.CauseRTORecovery] + causes[tcp.CauseOther],
			counter("TCPSlowStartRetrans"),
		},
		{"repaired tail losses", len(ofKind(events, tcp.EventTLPLoss)), counter("TCPLossProbeRecovery")},
		{
			"DSACKs", len(ofKind(events, tcp.EventDsack)),
			counter("TCPDSACKRecv") + counter("TCPDSACKOfoRecv") + counter("TCPDSACKIgnoredDubious"),
		},
		{"recoveries", recoveries, counter("TCPSackRecovery") + counter("TCPRenoRecovery")},
		{"undone reductions", len(ofKind(events, tcp.EventUndo)), undoneCount(counter)},
		{"reordering", len(ofKind(events, tcp.EventReordering)), int(reorderingSeen)},
		{
			"reordering", int(reorderingSeen),
			counter("TCPSACKReorder") + counter("TCPTSReorder") + counter("TCPRenoReorder"),
		},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d by the events, %d by the kernel's count", c.what, c.got, c.want)
		}
	}
	// A probe that the device refused is none to the kernel, and a probe may also be new data.
	probes := 0
	for _, e := range ofKind(events, tcp.EventRetransmit) {
		if e.Cause == tcp.CauseTLP && e.Reason == tcp.ReasonNone {
			probes++
		}
	}
	if most := counter("TCPLossProbes"); probes > most {
		t.Errorf("%d probes were retransmissions, the kernel sent %d in all", probes, most)
	}
}

// compareBlocks holds the samples of segments with SACK blocks against the events that the same
// segments make.
func compareBlocks(t *testing.T, events []tcp.Event, rows []tcp.Sample) {
	t.Helper()
	type carried struct{ ack, blocks int64 }
	var told, sampled []carried
	for _, e := range ofKind(events, tcp.EventSack, tcp.EventDsack) {
		told = append(told, carried{e.Seq, int64(e.NumBlocks)})
	}
	for _, s := range rows {
		if n := s.Values[tcp.SackBlocks]; n != 0 {
			sampled = append(sampled, carried{s.Values[tcp.AckBytes], n})
		}
	}
	if !slices.Equal(told, sampled) {
		t.Errorf("ACK numbers and SACK blocks of events %v, of samples %v", told, sampled)
	}
}

func write(t *testing.T, c net.Conn, n int) {
	t.Helper()
	if _, err := c.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c net.Conn, n int) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, n)
	for got := 0; got < n; {
		k, err := c.Read(buf)
		if err != nil {
			t.Fatalf("after %d of %d bytes: %v", got, n, err)
		}
		got += k
	}
}

func ofKind(events []tcp.Event, kinds ...tcp.EventKind) (out []tcp.Event) {
	for _, e := range events {
		if slices.Contains(kinds, e.Kind) {
			out = append(out, e)
		}
	}
	return out
}

func countCauses(events []tcp.Event) map[tcp.Cause]int {
	causes := map[tcp.Cause]int{}
	for _, e := range ofKind(events, tcp.EventRetransmit) {
		causes[e.Cause]++
	}
	return causes
}

// fastByAckOrTimer counts what RACK's timer found among what ACKs found: on a busy machine the
// timer may be first by a few milliseconds, and the segment is lost either way.
func fastByAckOrTimer(causes map[tcp.Cause]int) map[tcp.Cause]int {
	if n := causes[tcp.CauseRACKTimer]; n > 0 {
		causes[tcp.CauseFast] += n
		delete(causes, tcp.CauseRACKTimer)
	}
	return causes
}

func wantCauses(t *testing.T, events []tcp.Event, want map[tcp.Cause]int) {
	t.Helper()
	got := countCauses(events)
	if want[tcp.CauseRACKTimer] == 0 {
		got = fastByAckOrTimer(got)
	}
	for c := tcp.CauseNone; c <= tcp.CauseOther; c++ {
		if got[c] != want[c] {
			t.Errorf("%d retransmissions by %s, want %d", got[c], c, want[c])
		}
	}
}

func statesOf(events []tcp.Event) (states []tcp.CAState) {
	for i, e := range ofKind(events, tcp.EventCAState) {
		if i == 0 {
			states = append(states, tcp.CAState(e.From))
		}
		states = append(states, tcp.CAState(e.To))
	}
	return states
}

func wantStates(t *testing.T, events []tcp.Event, want ...tcp.CAState) {
	t.Helper()
	if got := statesOf(events); !slices.Equal(got, want) {
		t.Errorf("congestion states %v, want %v", got, want)
	}
}

func wantUndo(t *testing.T, events []tcp.Event, reason tcp.Reason, from tcp.CAState) {
	t.Helper()
	undone := ofKind(events, tcp.EventUndo)
	if len(undone) != 1 || undone[0].Reason != reason || tcp.CAState(undone[0].From) != from {
		t.Errorf("undone: %+v, want once by %s from %s", undone, reason, from)
	}
}
