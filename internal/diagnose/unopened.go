package diagnose

import (
	"airtide/internal/tcp"
	"airtide/internal/units"
)

// unopened reports whether a handshake was seen that did not end.
func (f *flow) unopened() bool { return f.opens && !f.opened }

// failure says why a connection did not open, and what to do.
type failure struct{ why, next string }

// failures are the reasons of a close that a connection may have before it is open.
var failures = map[tcp.Reason]failure{
	tcp.ReasonRefused: {
		"refused by the peer",
		"Start the service on this port of the peer, or find the firewall that answers with a reset.",
	},
	tcp.ReasonResetReceived: {
		"reset by the peer",
		"Look at the service on the peer, and for a firewall that answers with a reset.",
	},
	tcp.ReasonUnreachable: {
		"the peer's host or network cannot be reached",
		"Look at the route and at the neighbour (`ip route get`, `ip neigh`).",
	},
	tcp.ReasonAborted:   givenUp,
	tcp.ReasonResetSent: givenUp,
}

const findAnswer = "Capture at the peer: if the SYN arrives there, a firewall, a full backlog or the way back loses " +
	"the answer; if not, the address or the way there."

var (
	givenUp = failure{"given up by this end before an answer came", findAnswer}
	// noAnswer holds for all other reasons.
	noAnswer = failure{"no answer came", findAnswer}
)

func (f *flow) failure() failure {
	if known, ok := failures[f.reason]; ok {
		return known
	}
	return noAnswer
}

// unanswered judges a connection that did not open, for a reason.
func (f *flow) unanswered(failure failure) Phase {
	p := f.phase(f.bins)
	endNs := max(p.toNs, f.closedNs)
	m := verdict(Handshake, true).
		because("close", "%s, after %s", failure.why, milliseconds(float64(endNs-p.fromNs)/1000))
	if f.synRetrans > 0 {
		m.because("retransmit", "the SYN was sent again %s", units.Count(f.synRetrans, "time"))
	}
	found := m.finding()
	found.Sentence = "The connection did not open: " + failure.why + "."
	found.Refuted = "a SYN-ACK that arrived at this host (a capture shows it)"
	found.Next = failure.next
	return Phase{StartNs: p.fromNs, EndNs: endNs, Shares: []Share{{Handshake, 1}}, Finding: found}
}
