package message

import (
	"crypto/cipher"
	"net/netip"
)

// session is one run of another terminal's agent, as far as it is known here.
type session struct {
	id         uint64
	firstHeard uint64 // its place among all sessions ever heard
	aead       cipher.AEAD
	source     netip.AddrPort // where its reports come from
	second     netip.AddrPort // and where over the other version of IP, of one that says that it hears both
	both, six  bool           // it hears both, and was heard over IPv6 last
	bucket     bucket
	window     window
	// heardNs is when its newest datagram came, and heardIn the rotation of one's own challenges
	// then.
	heardNs int64
	heardIn uint64
	// proven is the newest rotation whose challenge it has answered. Zero: none yet.
	proven uint64
	// challenge is its own, which it wants answered; answers is how often that was done, lastly in
	// one's report number answered.
	challenge uint64
	answers   int
	answered  uint64
	wanting   bool // scratch of answers: it is not confirmed

	report   Report // the newest that was accepted or, before the first, the period of the newest that was heard
	accepted bool
}

// window judges sequence numbers.
type window struct {
	newest uint32
	seen   uint64 // bit i: newest - i
}

// judge says whether a number is newer than all, else whether it was seen. What lies further back
// than the window is stale.
func (w *window) judge(sequence uint32) Reason {
	if sequence > w.newest {
		return Accepted
	}
	if behind := w.newest - sequence; behind < 64 && w.seen&(1<<behind) != 0 {
		return Replayed
	}
	return Stale
}

// take records a number that is newer than all.
func (w *window) take(sequence uint32) {
	w.seen = w.seen<<(sequence-w.newest) | 1 // a shift by 64 or more leaves nothing, as it should
	w.newest = sequence
}

// How long a peer is believed in.
const (
	// A report counts for this many periods: 30 % of loss takes five in a row once in 400.
	periodsUntilSilent = 5
	// A new session takes over its source when the old one has missed half as many.
	periodsUntilOverdue2 = periodsUntilSilent // in half periods
	// A peer's own word for its period holds up to so many times one's own, which follows from the
	// same cell.
	longestPeriod = 4
	// A session stays confirmed for so many rotations after that whose challenge it answered.
	rotationsProven = 2
)

// at says whether its reports come from there.
func (s *session) at(from netip.AddrPort) bool { return from == s.source || from == s.second }

// periodNs is how often a session can be expected to report, given one's own period.
func (s *session) periodNs(ownNs int64) int64 {
	return min(max(int64(s.report.PeriodMs)*1e6, ownNs), longestPeriod*ownNs)
}

func (s *session) silent(nowNs, ownNs int64) bool {
	return nowNs-s.heardNs > periodsUntilSilent*s.periodNs(ownNs)
}

func (s *session) overdue(nowNs, ownNs int64) bool {
	return nowNs-s.heardNs > periodsUntilOverdue2*s.periodNs(ownNs)/2
}

// confirmed says that what the session sends is no recording: it has answered a recent challenge.
func (s *session) confirmed(rotation uint64) bool {
	return s.proven != 0 && rotation-s.proven <= rotationsProven
}

func (s *session) left() bool { return s.accepted && s.report.State == Leaving }

// forgettable says that nothing is lost with a session, and nothing opened to a replay: whatever
// was recorded of it until it was last heard answers no challenge that is still taken.
func (s *session) forgettable(nowNs, ownNs int64, rotation uint64) bool {
	if s.proven == 0 {
		return s.silent(nowNs, ownNs)
	}
	return (s.left() || s.silent(nowNs, ownNs)) && rotation >= s.heardIn+2
}
