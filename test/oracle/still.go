package oracle

import (
	"time"

	"airtide/internal/share/message"
	"airtide/test/oracle/control"
)

const (
	// All hold back no more often than stillFirst, and less and less often while the path turns out
	// to be as it was: others' queues do not show each time. When something has changed it is
	// stillChanged until the next time, and stillForeign where others' queues stand.
	stillFirst, stillRarest    = 2500 * time.Millisecond, 5 * time.Minute
	stillChanged, stillForeign = 10 * time.Second, 30 * time.Second
	longestStill               = 800 * time.Millisecond
)

// stillness is when all were asked to hold back last, and how soon they may be again.
type stillness struct {
	at, every time.Duration
}

// heard is what other terminals have found of queues of those who do not take part.
type heard struct {
	delay time.Duration // that they make for; 0 without
	at    time.Duration // somebody said so last
	stand bool          // somebody says so, and has seen them the last time
}

// looked ends what nobody has seen the time before.
func (h *heard) looked() {
	if !h.stand {
		h.delay = 0
	}
}

// hears takes in a step. What somebody saw the time before counts until all have held back once
// more, or should have.
func (h *heard) hears(now time.Duration, peers []message.Peer) {
	delay := foreignDelay(peers)
	if h.stand = delay > 0; h.stand || now-h.at >= 2*stillFirst {
		h.delay, h.at = delay, now
	}
}

// foreignDelay is the delay by others' queues of which terminals have found that they stand: the
// least of theirs, since their own are in it. Round-trip times are short now and then all the same.
func foreignDelay(peers []message.Peer) (delay time.Duration) {
	for i := range peers {
		if !peers[i].Report.ForeignQueues {
			continue
		}
		t := control.TerminalOf(&peers[i])
		if d := max(t.RTT-t.MinRTT, foreignQueue); delay == 0 || d < delay {
			delay = d
		}
	}
	return delay
}

// foreign says whether queues of others who do not take part stand, by what this terminal has found
// or others tell.
func (t *together) foreign(self *self) bool { return self.foreign() || t.heard.delay > 0 }

// concluded sets when all may be asked to hold back again: soon when the path seems to be longer,
// which others' queues look like for a moment, and when others' queues that stood did not this
// once; later when something else has changed, and latest where others' queues stand, which costs
// those who hold back.
func (s *stillness) concluded(now time.Duration, soon, changed, foreign bool) {
	s.at = now
	s.every = min(max(2*s.every, stillFirst), stillRarest)
	switch {
	case changed:
		s.every = stillChanged
	case soon:
		s.every = stillFirst
	}
	if foreign {
		s.every = max(s.every, stillForeign)
	}
}

// pause is how long all are not asked to hold back again. Others' queues do not show to each
// terminal each time: while another has seen them it is that of one that has, but not just after
// somebody has begun to take part, whose queues they may have been.
func (t *together) pause(now time.Duration) time.Duration {
	if t.heard.stand && now-t.joinedAt >= beginFor {
		return max(t.still.every, stillForeign)
	}
	return t.still.every
}

// stillLength is how long all have to hold back for queues that make for such a mean round-trip
// time to be empty for a while.
func stillLength(mean time.Duration) time.Duration {
	return min((stillAfter(mean) + 3*message.ProbeLengthStep/2).Truncate(message.ProbeLengthStep), longestStill)
}
