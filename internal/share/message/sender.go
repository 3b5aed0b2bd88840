package message

import (
	"errors"
	"math"
	"math/rand/v2"

	"airtide/internal/share/cellkey"
)

// Sender seals the reports of this terminal and decides when they are due.
type Sender struct {
	r        *Receiver
	sealers  sealers
	sequence uint32
	lastNs   int64
	jitter   float64
	extra    bool // an extra report is due now
	owed     bool // the pause after the next regular report is a period longer
	random   *rand.Rand
	body     []byte
	echoes   []uint64
}

// jitterPart is the greatest change of a period. It keeps terminals from sending at the same time.
const jitterPart = 0.1

// NewSender returns the Sender of a Receiver's session. A Receiver has one Sender.
func NewSender(r *Receiver, nowNs int64) *Sender {
	s := &Sender{r: r, lastNs: nowNs, random: rand.New(r.random)}
	// After a power failure, many terminals start at the same time.
	s.jitter = s.random.Float64()
	return s
}

// DueNs returns the time of the next report: about a period after the last. The period grows with
// the number of known terminals. The caller has to ask again at that time, like RTCP (timer
// reconsideration, RFC 3550, 6.3.3).
func (s *Sender) DueNs(nowNs int64) int64 {
	if s.extra {
		return nowNs
	}
	return s.regularNs(nowNs)
}

func (s *Sender) regularNs(nowNs int64) int64 {
	return s.lastNs + int64(s.jitter*float64(s.periodNs(nowNs)))
}

// SendEarly makes an extra report due now if MaySendEarly allows it. Peers get a change sooner and
// twice within a period. A later report is left out, so that the number of reports is the same.
func (s *Sender) SendEarly() { s.extra = s.MaySendEarly() }

// MaySendEarly reports whether an extra report is allowed now.
func (s *Sender) MaySendEarly() bool { return !s.extra && !s.owed }

func (s *Sender) periodNs(nowNs int64) int64 { return s.r.computePeriodNs(nowNs) }

// ErrExhausted means that a session has used all its sequence numbers, after 13 years. The caller
// makes a new Receiver and Sender.
var ErrExhausted = errors.New("the session has no sequence numbers left: begin another")

// NextKey returns the key under which Seal seals the next report. Hashes of access points in it are
// those of this key.
func (s *Sender) NextKey() cellkey.Key { return s.r.keys.turn(s.sequence + 1).key }

// Seal appends a report as a datagram. It sets the session, the sequence number and the period. The
// error names a value beyond its limits.
func (s *Sender) Seal(dst []byte, report Report, nowNs int64) ([]byte, error) {
	if s.sequence == math.MaxUint32 {
		return dst, ErrExhausted
	}
	nowNs = s.r.look(nowNs)
	report.Session = s.r.session
	report.Sequence = s.sequence + 1
	report.PeriodMs = uint32(min(max(s.periodNs(nowNs)/1e6, LowestPeriodMs), HighestPeriodMs))
	if err := report.Check(); err != nil {
		return dst, err
	}
	var err error
	var wanting int
	s.echoes, wanting = s.r.answers(s.echoes[:0], nowNs)
	s.body, err = appendBody(s.body[:0], &report, s.r.challenge, s.echoes, wanting)
	if err != nil {
		return dst, err
	}
	s.sequence++
	start := len(dst)
	key := s.r.keys.turn(s.sequence)
	dst = seal(dst, s.sealers.of(key, s.r.session), header{key.tag, s.r.session, s.sequence}, s.body)
	s.r.size = len(dst) - start
	early := s.extra && nowNs < s.regularNs(nowNs)
	s.extra = false
	if early {
		s.owed = true
		return dst, nil
	}
	s.lastNs = nowNs
	s.jitter = 1 - jitterPart + 2*jitterPart*s.random.Float64()
	if s.owed {
		s.owed = false
		s.jitter++
	}
	return dst, nil
}
