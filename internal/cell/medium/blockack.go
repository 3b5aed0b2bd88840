package medium

import "airtide/internal/cell/queue"

// frameState is the sender's knowledge about a frame that has left its queue.
type frameState uint8

const (
	unacknowledged frameState = iota // on the air, or to be sent again
	received                         // by the other side, which may still hold it back
	abandoned                        // after the last retry
)

type frame struct {
	packet   *queue.Packet
	failures uint8
	state    frameState
}

// link is one direction between the access point and a station. It is the sender's transmit window
// and the receiver's reorder buffer (10.25.6) at once, since both know the same at the end of an
// exchange. Without aggregation it holds one frame.
type link struct {
	station int
	owner   int // the contender that sends
	frames  []frame
	// Sequence numbers: frames[seq%len] for first <= seq < next.
	first, next uint32
	waiting     int  // frames that are not acknowledged
	bar         bool // the next frame is a BlockAckReq
	listed      bool // the access point counts it among its links with something to repeat
}

func newLink(station, owner, frames int) link {
	size := 1
	for size < frames {
		size *= 2
	}
	return link{station: station, owner: owner, frames: make([]frame, size)}
}

func (l *link) at(seq uint32) *frame { return &l.frames[seq&uint32(len(l.frames)-1)] }

func (l *link) full() bool { return int(l.next-l.first) == len(l.frames) }

func (l *link) add(p *queue.Packet) {
	*l.at(l.next) = frame{packet: p}
	l.next++
	l.waiting++
}

// hasRepeats reports whether the link has frames or a BlockAckReq to send that are in no queue.
func (l *link) hasRepeats() bool { return l.waiting > 0 || l.bar }

// retry counts a failed attempt for each unreceived frame of a transmission. Frames that have
// reached the retry limit are abandoned and appended to dropped.
func (l *link) retry(seqs []uint32, limit int, dropped []*queue.Packet) []*queue.Packet {
	for _, seq := range seqs {
		f := l.at(seq)
		// A received frame may have left the window, and its place may be empty.
		if seq-l.first >= l.next-l.first || f.state != unacknowledged {
			continue
		}
		f.failures++
		if int(f.failures) < limit {
			continue
		}
		dropped = append(dropped, f.packet)
		f.state = abandoned
		f.packet = nil
		l.waiting--
		if len(l.frames) == 1 {
			l.first++
			continue
		}
		// The receiver holds back later frames until a BlockAckReq moves its window (10.25.6.6).
		l.bar = true
	}
	return dropped
}

// release removes the next frame in order from the reorder buffer, or returns nil. With passOver it
// skips abandoned frames, as after a BlockAckReq.
func (l *link) release(passOver bool) *queue.Packet {
	for l.first != l.next {
		f := l.at(l.first)
		switch {
		case f.state == received:
			l.first++
			p := f.packet
			f.packet = nil
			return p
		case f.state == abandoned && passOver:
			l.first++
		default:
			return nil
		}
	}
	return nil
}
