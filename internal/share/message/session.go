package message

import (
	"net/netip"

	"airtide/internal/share/cellkey"
)

// session is one run of another terminal's agent.
type session struct {
	id         uint64
	firstHeard uint64 // its number among all sessions
	sealers    sealers
	tag        cellkey.Tag    // tag of its newest datagram
	source     netip.AddrPort // source of its reports
	second     netip.AddrPort // source of its reports over the other version of IP
	both, six  bool           // it receives both versions; the last report came over IPv6
	bucket     bucket
	window     window
	// heardNs is the arrival of its newest datagram. heardIn is the rotation of this terminal's
	// challenges at that time.
	heardNs int64
	heardIn uint64
	// proven is the newest rotation whose challenge it has answered, or zero.
	proven uint64
	// challenge is the challenge of the session, answers is the number of answers to it, and
	// answered is the number of this terminal's last report with an answer.
	challenge uint64
	answers   int
	answered  uint64
	wanting   bool // it is not confirmed; used only by Receiver.answers

	report   Report // the newest accepted report; before it, only the newest period
	accepted bool
}

// window judges sequence numbers.
type window struct {
	newest uint32
	seen   uint64 // bit i: newest - i
}

// judge accepts a number that is newer than all others. Others are replayed if the window knows
// them, otherwise stale.
func (w *window) judge(sequence uint32) Reason {
	if sequence > w.newest {
		return Accepted
	}
	if behind := w.newest - sequence; behind < 64 && w.seen&(1<<behind) != 0 {
		return Replayed
	}
	return Stale
}

// take records a number that is newer than all others.
func (w *window) take(sequence uint32) {
	w.seen = w.seen<<(sequence-w.newest) | 1 // a shift by 64 or more clears all bits, as it should
	w.newest = sequence
}

const (
	// periodsUntilSilent is the number of periods for which a report counts. With a loss of 30 %,
	// five reports in a row are lost once in 400 times.
	periodsUntilSilent = 5
	// periodsUntilOverdue2 is the number of half periods without a report after which another
	// session may take over the source.
	periodsUntilOverdue2 = periodsUntilSilent
	// longestPeriod is the longest accepted period of a peer, in periods of this terminal. Both
	// follow from the same cell.
	longestPeriod = 4
	// rotationsProven is the number of rotations for which an answer confirms a session.
	rotationsProven = 2
)

// at reports whether the session sends from a source.
func (s *session) at(from netip.AddrPort) bool { return from == s.source || from == s.second }

// periodNs returns the expected period of a session. ownNs is the period of this terminal.
func (s *session) periodNs(ownNs int64) int64 {
	return min(max(int64(s.report.PeriodMs)*1e6, ownNs), longestPeriod*ownNs)
}

func (s *session) silent(nowNs, ownNs int64) bool {
	return nowNs-s.heardNs > periodsUntilSilent*s.periodNs(ownNs)
}

func (s *session) overdue(nowNs, ownNs int64) bool {
	return nowNs-s.heardNs > periodsUntilOverdue2*s.periodNs(ownNs)/2
}

// confirmed reports whether the session has answered a recent challenge, so that it is no replay.
func (s *session) confirmed(rotation uint64) bool {
	return s.proven != 0 && rotation-s.proven <= rotationsProven
}

func (s *session) left() bool { return s.accepted && s.report.State == Leaving }

// forgettable reports whether the session can be removed without opening a way for replays. Then no
// recorded report of it answers a challenge that is still accepted.
func (s *session) forgettable(nowNs, ownNs int64, rotation uint64) bool {
	if s.proven == 0 {
		return s.silent(nowNs, ownNs)
	}
	return (s.left() || s.silent(nowNs, ownNs)) && rotation >= s.heardIn+2
}
