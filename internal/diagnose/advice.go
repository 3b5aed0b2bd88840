package diagnose

import (
	"fmt"
	"math"
)

// refutations name the observation that would refute a verdict.
var refutations = [numLimits]string{
	Handshake:   "a connection that is kept open and is not faster",
	Idle:        "a program that waits for this connection",
	Application: "a program that spends its time in send(), with a full send buffer",
	RoundTrips:  "requests that are sent without waiting for the answer, and no gain",
	Nagle:       "the same delay with TCP_NODELAY set",
	ReceivingApplication: "a receiving program that waits in recv() with an empty receive queue " +
		"(receive_queued_bytes at the receiver)",
	ReceiveWindow:  "a larger receive buffer without a higher rate",
	SendBuffer:     "a larger send buffer without a higher rate",
	CwndBound:      "a higher bound without a higher rate",
	SlowStart:      "a longer transfer that is not faster at its end",
	RandomLoss:     "an RTT that rises before each loss; drops counted by a queue on the path",
	ShallowQueue:   "losses at times of a low RTT",
	Timeout:        "acknowledgements that arrived at this host while it waited (a capture shows them)",
	Stall:          "packets that were sent again during the pause and were needed",
	Reordering:     "retransmissions that the peer needed: no DSACK for them",
	Pacing:         "a higher pacing rate without a higher rate",
	OwnQueue:       "an empty queue in `tc -s qdisc` on this host",
	OwnDevice:      "no drops in `tc -s qdisc` and `ip -s link` on this host",
	NetworkQueue:   "an RTT that stays high when this connection pauses: then others fill the queue",
	SharedCapacity: "a rate that varies as much when nothing else uses the path",
	Capacity:       "a second connection that raises the sum of the rates",
	NoData:         "data that waits at the sender (its send queue)",
	Gaps:           "a sender that reports no retransmissions",
	SenderOrNetwork: "a receive window that closes, or data that waits to be read " +
		"(receive_queued_bytes)",
	SenderHost:    "a recording at the sender that names the path",
	RadioLimit:    "the same rate with a better signal on a free channel, or by cable",
	AckBacklog:    "captures at both ends in which the data waits and the acknowledgements do not",
	Teardown:      "a connection that is kept open and is not faster",
	PathMTU:       "a full segment that arrives (`ping -M do -s 1472`)",
	UnfairSharing: "a rate that does not rise when the other connection pauses",
}

func (l Limit) refuted() string { return refutations[l] }

// segmentBytes is the size of a segment where the recording has none.
const segmentBytes = 1448

func (p *phase) mss() float64 {
	if mss := p.flow.last.mss; mss > 0 {
		return float64(mss)
	}
	return segmentBytes
}

// rtt is the RTT in s, at least a microsecond.
func (p *phase) rtt() float64 { return math.Max(1, p.rttUs) / 1e6 }

// windowBps is the rate that the mean congestion window allows.
func (p *phase) windowBps() float64 { return p.cwnd.mean() * p.mss() * 8 / p.rtt() }

// next is the next step and its expected effect in numbers.
func (p *phase) next(l Limit) string {
	now := rate(max(p.rateBps(), p.receiveBps()))
	switch l {
	case Unknown:
		if p.unseenBytes > 0 {
			return "Record with `--with half-closed`: it makes samples while one end goes on to send behind the FIN " +
				"of the other."
		}
	case Application:
		if p.flow.source == Captured {
			return fmt.Sprintf("Look at the sending program: it sends %s.", now)
		}
		return fmt.Sprintf("Look at the sending program: the congestion window would allow %s, and it sends %s.",
			rate(p.windowBps()), now)
	case RoundTrips, Handshake, Teardown:
		return fmt.Sprintf("Reuse the connection and send requests without waiting: at an RTT of %s at most %.0f "+
			"exchanges in a row fit into a second, and twice as many with two at a time.", milliseconds(p.rttUs),
			1/p.rtt())
	case Nagle:
		if p.turns < 2 { // polls see none
			return "Write each message at once or set TCP_NODELAY: an exchange takes about the RTT of " +
				milliseconds(p.baseUs) + " then."
		}
		turn := p.seconds() / float64(p.turns)
		return fmt.Sprintf("Write each message at once or set TCP_NODELAY: an exchange takes %s now, and about "+
			"the RTT of %s then.", milliseconds(turn*1e6), milliseconds(p.baseUs))
	case ReceivingApplication:
		return fmt.Sprintf("Look at the receiving program: it reads %s, and data waits for it. More buffer "+
			"does not raise the rate.", now)
	case ReceiveWindow:
		return p.nextReceiveWindow()
	case SendBuffer:
		flight := p.inFlight.mean() * p.mss()
		how := "Enlarge the send buffer (SO_SNDBUF, tcp_wmem)"
		if p.flow.last.sendFixed == 1 {
			how = "Let the program enlarge SO_SNDBUF, or leave the buffer to the kernel and raise tcp_wmem"
		}
		text := fmt.Sprintf("%s: %s in flight at %s allow %s.", how, bytes(flight), milliseconds(p.rttUs),
			rate(flight*8/p.rtt()))
		if p.flow.source != Captured {
			text += fmt.Sprintf(" The congestion window would allow %s.", rate(p.windowBps()))
		}
		return text
	case CwndBound:
		return fmt.Sprintf("Raise the bound of the window: %.0f packets at %s allow %s, twice as many %s, until "+
			"the path or another window limits.", p.cwnd.greatest, milliseconds(p.rttUs), rate(p.windowBps()),
			rate(2*p.windowBps()))
	case SlowStart:
		return fmt.Sprintf("Use one connection for several transfers, or a larger initial window: each doubling "+
			"saves one round trip of %s.", milliseconds(p.rttUs))
	case RandomLoss:
		return p.nextLoss()
	case ShallowQueue:
		return fmt.Sprintf("Let the queue at the bottleneck hold a window: %s at %s and %s; or use BBR.",
			bytes(p.rateBps()/8*p.rtt()), now, milliseconds(p.rttUs))
	case Pacing:
		return fmt.Sprintf("Remove or raise the pacing rate: the congestion window would allow %s instead of %s.",
			rate(p.windowBps()), now)
	case NetworkQueue:
		packets := math.Ceil(p.rateBps() / 8 * p.baseUs / 1e6 / p.mss() * 1.25)
		return fmt.Sprintf("Bound the window: `airtide tune --cwnd-max %.0f` keeps the rate of %s and lowers the "+
			"RTT from %s to about %s.", packets, now, milliseconds(p.rttUs), milliseconds(1.25*p.baseUs))
	case RadioLimit:
		return p.nextRadio()
	case OwnQueue:
		return fmt.Sprintf("The link of this host carries %s. A faster link raises the rate; fq or fq_codel on the "+
			"interface shortens the wait of other connections (%s stand in the queue).", now,
			bytes(p.deviceQueue.mean()))
	}
	return staticNext[l]
}

// next is the next step if it needs no numbers.
func (l Limit) next() string { return staticNext[l] }

// staticNext are next steps without numbers.
var staticNext = [numLimits]string{
	Unknown:        "Record with the bpf source and every ACK, from the start of the connection.",
	Idle:           "Nothing: no program used the connection.",
	Timeout:        "Find the loss of whole windows: a capture at both ends shows which packets did not arrive.",
	Stall:          "Look at the radio: scans, power save and roaming pause the path.",
	Reordering:     "Find parallel paths or a retrying link below IP; a recent kernel adapts its reordering degree.",
	OwnDevice:      "Lengthen the device's queue (txqueuelen, qdisc limit), or bound the window with `airtide tune`.",
	SharedCapacity: "Find the other traffic: airtide monitor shows this host's, the access point knows the rest.",
	Capacity:       "Nothing at the ends: a faster path is needed.",
	NoData:         "Record at the sender: it shows why it sent nothing.",
	Gaps:           "Record at the sender: it shows whether the packets were lost or late.",
	SenderOrNetwork: "Record at the sender: application, buffers, pacing and the path cannot be told apart from this " +
		"end alone.",
	AckBacklog: "Look at the way from the receiver to the sender: its rate, its queue, and downloads that fill " +
		"it. Fewer acknowledgements (thinning in the access point) or a separate queue for them help.",
	PathMTU: "Look for a link with a smaller MTU and a firewall without ICMP (`ping -M do -s 1472`). " +
		"tcp_mtu_probing=1 works around it.",
	SenderHost: "Record at the sender: its buffer, its congestion window, its pacing and its device cannot be told " +
		"apart from segments.",
}

func (p *phase) nextReceiveWindow() string {
	window := p.window.mean()
	now := p.rateBps()
	rtt := p.rtt()
	if p.receives() {
		window = p.receiveWindow.mean()
		now = p.receiveBps()
		rtt = math.Max(1, p.receiverRtt.mean()) / 1e6
		if p.unscaled() {
			return fmt.Sprintf("Turn window scaling on at both ends (tcp_window_scaling), and set no "+
				"TCP_WINDOW_CLAMP or small SO_RCVBUF before connect() or listen(): %d bytes at %s allow %s.",
				unscaledWindow, milliseconds(rtt*1e6), rate(window*8/rtt))
		}
	}
	how := "Enlarge the receiver's buffer (tcp_rmem, SO_RCVBUF)"
	if p.receives() && p.flow.last.receiveFixed == 1 {
		how = "Let the program enlarge SO_RCVBUF, or leave the buffer to the kernel (tcp_rmem)"
	}
	return fmt.Sprintf("%s: a window of %s at %s allows %s (%s seen); twice the window allows %s, until the path "+
		"limits.", how, bytes(window), milliseconds(rtt*1e6),
		rate(window*8/rtt),
		rate(now), rate(2*window*8/rtt))
}

func (p *phase) nextLoss() string {
	losses := int64(p.reductions)
	noun := "reduction"
	if p.flow.source == Polled { // a poll sees few reductions, but counts all packets
		losses = max(losses, p.retrans)
		noun = "packet sent again"
	}
	each := float64(p.deliveredPackets) / math.Max(1, float64(losses))
	return fmt.Sprintf("Find the lossy link. With one %s in %.0f packets at %s a loss-based sender reaches about %s "+
		"(%s seen); a quarter of the losses doubles that. BBR does not slow down for random loss.", noun, each,
		milliseconds(p.rttUs), rate(p.lossRate(losses)), rate(p.rateBps()))
}
