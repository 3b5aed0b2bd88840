package diag

import (
	"math"

	"airtide/internal/tcp"
)

// past holds the values of a flow's last sample that are compared with the next one. Values are
// Absent where the kernel has none.
type past struct {
	state, caState         int64
	backoff, totalRTO      int64
	retransmits            int64
	reordering, reordSeen  int64
	sackedOut, dsackDups   int64
	deliveredCE            int64
	ceGrew                 bool // the count of CE marks grew since the sample before
	sendWindow, recvWindow int64
}

func pastOf(r *row, a *answer) past {
	return past{
		state: r[tcp.StateField], caState: r[tcp.CAStateField],
		backoff: r[tcp.Backoff], totalRTO: number(a.info, offTotalRTO, 2),
		retransmits: r[tcp.RetransmitsPackets],
		reordering:  r[tcp.ReorderingPackets], reordSeen: r[tcp.ReorderingSeen],
		sackedOut: r[tcp.SackedOutPackets], dsackDups: r[tcp.DSackDups],
		deliveredCE: r[tcp.DeliveredCEPackets],
		sendWindow:  r[tcp.SendWindowBytes], recvWindow: r[tcp.ReceiveWindowBytes],
	}
}

// growth is by how much a counter grew, 0 when it is absent.
func growth(before, now int64) int64 {
	if before == tcp.Absent || now == tcp.Absent {
		return 0
	}
	return max(0, now-before)
}

// situation is the sender's state in every event.
type situation struct {
	caState                  tcp.CAState
	cwnd, ssthresh, inFlight uint32
}

func situationOf(r *row) situation {
	s := situation{
		caState: tcp.CAState(r[tcp.CAStateField]), cwnd: uint32(r[tcp.CwndPackets]),
		ssthresh: math.MaxInt32, // unset, as in the kernel
		inFlight: uint32(max(0, r[tcp.InFlightPackets])),
	}
	if v := r[tcp.SsthreshPackets]; v != tcp.Absent {
		s.ssthresh = uint32(v)
	}
	return s
}

func (s situation) event(timeNs int64, id tcp.FlowID, kind tcp.EventKind) tcp.Event {
	return tcp.Event{
		TimeNs: timeNs, Flow: id, Kind: kind, FromSample: true,
		CAState: s.caState, CwndPackets: s.cwnd, SsthreshPackets: s.ssthresh, InFlightPackets: s.inFlight,
	}
}

// comparison finds the events between two samples of one flow.
type comparison struct {
	before, now *past
	row         *row
	options     uint8 // tcpi_options
	template    tcp.Event
	emit        func(*tcp.Event) error
	err         error
}

func (c *comparison) event(e tcp.Event) {
	if c.err != nil {
		return
	}
	t := c.template
	t.Code = e.Kind.Code()
	t.Kind = e.Kind
	t.Cause = e.Cause
	t.From = e.From
	t.To = e.To
	t.Seq = e.Seq
	t.Value = e.Value
	c.err = c.emit(&t)
}

// run emits the events in the order in which a reader expects them: from ACKs, then the sender's
// conclusions, then its actions.
func (c *comparison) run() error {
	c.states()
	c.acks()
	c.congestion()
	timeouts := c.timeouts()
	c.retransmissions(timeouts)
	c.windows()
	return c.err
}

func (c *comparison) states() {
	if c.before.state == c.now.state {
		return
	}
	from := uint8(c.before.state)
	to := uint8(c.now.state)
	c.event(tcp.Event{Kind: tcp.EventState, From: from, To: to})
	if handshake(c.before.state) && !handshake(c.now.state) {
		c.event(tcp.Event{Kind: tcp.EventOpen, From: from, To: to})
	}
}

func handshake(state int64) bool {
	return state == int64(tcp.StateSynSent) || state == int64(tcp.StateSynRecv)
}

// acks finds codes 1 and 3 and congestion marks.
func (c *comparison) acks() {
	if growth(c.before.dsackDups, c.now.dsackDups) > 0 {
		c.event(tcp.Event{Kind: tcp.EventDsack, Value: growth(c.before.dsackDups, c.now.dsackDups)})
	}
	// Without SACK the kernel counts duplicate ACKs in sacked_out. Recovery is only entered upon
	// them.
	if c.now.sackedOut > 0 && c.before.sackedOut == 0 || c.entered(tcp.CARecovery) && c.before.sackedOut == 0 {
		kind := tcp.EventDupAck
		if c.options&optionSACK != 0 {
			kind = tcp.EventSack
		}
		seq := max(0, c.row[tcp.AckedBytes]) // Absent before 4.1
		c.event(tcp.Event{Kind: kind, Seq: seq, Value: c.now.sackedOut})
	}
	// Before 4.19 there is no counter; the degree is then the only sign of it.
	seen := growth(c.before.reordSeen, c.now.reordSeen) > 0
	if seen || c.now.reordSeen == tcp.Absent && c.now.reordering > c.before.reordering {
		c.event(tcp.Event{Kind: tcp.EventReordering, Value: c.now.reordering})
	}
	c.now.ceGrew = growth(c.before.deliveredCE, c.now.deliveredCE) > 0
	if c.now.ceGrew && !c.before.ceGrew {
		c.event(tcp.Event{Kind: tcp.EventECNEcho, Value: c.now.deliveredCE})
	}
}

func (c *comparison) entered(s tcp.CAState) bool {
	return c.now.caState == int64(s) && c.before.caState != int64(s)
}

// congestion finds changes of the congestion state and code 2. The state CWR is entered when the
// local queue refused a packet and when the peer echoes congestion marks; it is called local only
// when marks are ruled out: not agreed upon, or counted and none came.
func (c *comparison) congestion() {
	if c.before.caState != c.now.caState {
		c.event(tcp.Event{Kind: tcp.EventCAState, From: uint8(c.before.caState), To: uint8(c.now.caState)})
	}
	if !c.entered(tcp.CACWR) {
		return
	}
	counted := c.now.deliveredCE != tcp.Absent && c.before.deliveredCE != tcp.Absent
	if c.options&optionECN == 0 || counted && !c.now.ceGrew {
		c.event(tcp.Event{Kind: tcp.EventLocalCongestion})
	}
}

// timeouts finds code 4 and returns how many there were.
func (c *comparison) timeouts() int64 {
	var n int64
	switch {
	case c.now.totalRTO != tcp.Absent && c.before.totalRTO != tcp.Absent:
		n = int64(uint16(c.now.totalRTO - c.before.totalRTO)) // a 16-bit counter that wraps
	case c.now.backoff > c.before.backoff:
		n = c.now.backoff - c.before.backoff
	case c.entered(tcp.CALoss):
		n = 1
	}
	rto := c.row[tcp.RTOUs]
	if rto == tcp.Absent {
		rto = 0
	}
	for range n {
		c.event(tcp.Event{Kind: tcp.EventTimeout, Value: rto >> min(c.now.backoff, 62)})
	}
	return n
}

// retransmissions makes one event of all that were sent again since the last sample; Value counts
// them.
func (c *comparison) retransmissions(timeouts int64) {
	n := growth(c.before.retransmits, c.now.retransmits)
	if n == 0 {
		return
	}
	cause := tcp.CauseOther
	switch {
	case handshake(c.before.state):
		cause = tcp.CauseSYN
	case timeouts >= n:
		cause = tcp.CauseRTO
	case c.now.caState == int64(tcp.CALoss):
		cause = tcp.CauseRTORecovery
	case c.now.caState == int64(tcp.CARecovery), c.before.caState == int64(tcp.CARecovery) && timeouts == 0:
		cause = tcp.CauseFast
	}
	c.event(tcp.Event{Kind: tcp.EventRetransmit, Cause: cause, Value: n})
}

func (c *comparison) windows() {
	if handshake(c.before.state) || handshake(c.now.state) {
		return // the peer's window is not known before its first segment
	}
	switch {
	case c.now.sendWindow == 0 && c.before.sendWindow > 0:
		c.event(tcp.Event{Kind: tcp.EventZeroWindow})
	case c.now.sendWindow > 0 && c.before.sendWindow == 0:
		c.event(tcp.Event{Kind: tcp.EventWindowOpen, Value: c.now.sendWindow})
	}
	if c.now.recvWindow == 0 && c.before.recvWindow > 0 {
		c.event(tcp.Event{Kind: tcp.EventLocalZeroWindow})
	}
}

// closeReason returns the reason of a flow's end, as far as its last known state shows.
func closeReason(state int64, timeWait bool) tcp.Reason {
	switch tcp.State(state) {
	case tcp.StateFinWait1, tcp.StateFinWait2, tcp.StateClosing:
		return tcp.ReasonLocalFIN
	case tcp.StateCloseWait, tcp.StateLastAck:
		return tcp.ReasonRemoteFIN
	}
	if timeWait {
		return tcp.ReasonLocalFIN // only the end that closes first comes to TIME_WAIT
	}
	return tcp.ReasonUnknownLeaving
}
