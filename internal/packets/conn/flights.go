package conn

import (
	"sort"

	"airtide/internal/packets/decode"
)

// flight is a segment without an ACK.
type flight struct {
	seq, end uint32
	timeNs   int64
	twice    bool
}

// maxFlights bounds the segments that wait for ACKs; the oldest go.
const maxFlights = 1 << 15

// push adds a segment that waits for its ACK.
func (d *side) push(step *Step, f flight) {
	if d.first > 64 && d.first*2 > len(d.flights) {
		d.flights = d.flights[:copy(d.flights, d.flights[d.first:])]
		d.first = 0
	}
	if len(d.flights)-d.first >= maxFlights {
		d.first++
		step.dropped++
	}
	if len(d.flights) == cap(d.flights) && !d.makeRoom(step) {
		step.dropped++
		return
	}
	d.flights = append(d.flights, f)
}

// makeRoom makes room for a waiting segment. Without spare memory, the older half of the segments
// goes.
func (d *side) makeRoom(step *Step) bool {
	waiting := d.flights[d.first:]
	grow := max(4, cap(d.flights))
	if step.spare < grow {
		drop := 0
		if d.first == 0 {
			drop = (len(waiting) + 1) / 2
		}
		step.dropped += uint64(drop)
		d.flights = d.flights[:copy(d.flights, waiting[drop:])]
		d.first = 0
		return cap(d.flights) > 0
	}
	step.spare -= grow
	larger := make([]flight, len(waiting), cap(d.flights)+grow)
	copy(larger, waiting)
	d.flights = larger
	d.first = 0
	return true
}

// release frees the waiting segments.
func (d *side) release(step *Step) {
	step.spare += cap(d.flights)
	d.flights = nil
	d.first = 0
}

// resend marks the waiting segments that were sent again. Their ends grow.
func (d *side) resend(seq, end uint32) {
	waiting := d.flights[d.first:]
	at := sort.Search(len(waiting), func(i int) bool { return less(seq, waiting[i].end) })
	for ; at < len(waiting) && less(waiting[at].seq, end); at++ {
		waiting[at].twice = true
	}
}

// arrive removes the segments that an ACK covers and takes their times.
func (d *side) arrive(s *decode.Segment, step *Step) {
	for d.first < len(d.flights) {
		f := &d.flights[d.first]
		if less(s.Ack, f.end) {
			return
		}
		if delay := s.TimeNs - f.timeNs; !f.twice && delay >= 0 {
			step.Delays = append(step.Delays, Delay{d.offsetOf(f.seq), d.offsetOf(f.end), delay})
			if f.end == s.Ack {
				d.rtt.add(delay)
			}
		}
		d.first++
	}
	d.flights = d.flights[:0]
	d.first = 0
	if cap(d.flights) > 256 {
		d.release(step)
	}
}
