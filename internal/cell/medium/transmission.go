package medium

import "airtide/internal/cell/queue"

// transmission is a PPDU with its contents. Each contender reuses one.
type transmission struct {
	link  *link
	radio *radio
	// bar: a BlockAckReq instead of data.
	bar            bool
	seqs           []uint32 // sequence numbers of the data frames
	retries        int      // frames that were sent before
	lost           int      // frames lost by frame errors
	startNs, endNs int64
	bytes          int
	rts            bool // RTS and CTS precede the PPDU, from startNs on
}

// limits of one direction of a terminal at one of its rates.
type limits struct{ frames, bytes int }

// answerNs returns the duration of the acknowledgement.
func (t *transmission) answerNs() int64 {
	if t.bar || len(t.seqs) > 1 {
		return t.radio.blockAckNs
	}
	return t.radio.ackNs
}

// add puts a frame into the PPDU if it may still grow so far. A frame that must go is not measured.
func (t *transmission) add(seq uint32, mpduBytes int, l limits, must bool) bool {
	if len(t.seqs) == l.frames {
		return false
	}
	size := mpduBytes
	if l.frames > 1 || t.radio.Standard >= Std11ac {
		// Each MPDU follows its delimiter and begins at a multiple of four bytes (9.7.1).
		size += delimiterBytes + (t.bytes+3)&^3
	}
	if size > l.bytes && !must {
		return false
	}
	t.bytes = size
	t.seqs = append(t.seqs, seq)
	return true
}

// compose fills a transmission with the next frames of its link: first repetitions, then new
// packets within the BlockAck window. leftNs is the rest of a TXOP, or never without a limit. The
// first PPDU of a TXOP carries one frame even if it takes longer (10.23.2.9). It returns false if
// there is nothing to send.
func (m *Medium) compose(t *transmission, nowNs, leftNs int64, first bool) bool {
	link := t.link
	radio := t.radio
	t.bar = link.bar
	t.seqs = t.seqs[:0]
	t.bytes = 0
	t.retries = 0
	t.lost = 0
	t.rts = false
	if t.bar {
		t.endNs = t.startNs + radio.barNs
		return first || radio.barNs+m.sifsNs+radio.blockAckNs <= leftNs
	}
	limits := m.terminals[link.station].limits(link.owner == 0)
	if leftNs != never {
		left := leftNs - m.sifsNs - radio.blockAckNs - radio.extensionNs
		if first && m.rtsBytes > 0 {
			left -= radio.leadNs
		}
		limits.bytes = min(limits.bytes, radio.bytesIn(left))
	}
	room := true
	for seq := link.first; room && seq != link.next; seq++ {
		if f := link.at(seq); f.state == unacknowledged {
			room = t.add(seq, radio.mpduBytes(f.packet.Length), limits, first && len(t.seqs) == 0)
			if room {
				t.retries++
			}
		}
	}
	for room && !link.full() {
		p := m.head(link, nowNs)
		if p == nil || !t.add(link.next, radio.mpduBytes(p.Length), limits, first && len(t.seqs) == 0) {
			break
		}
		m.pop(link, nowNs)
		link.add(p)
		m.inFlight[link.owner]++
	}
	if len(t.seqs) == 0 {
		return false
	}
	if len(t.seqs) == 1 && limits.frames > 1 && radio.Standard == Std11n {
		t.bytes -= delimiterBytes // a single frame goes as it is
	}
	t.endNs = t.startNs + radio.frameNs(t.bytes)
	t.rts = first && m.rtsBytes > 0 && t.bytes > m.rtsBytes
	if t.rts {
		t.endNs += radio.leadNs
	}
	return true
}

func (m *Medium) head(l *link, nowNs int64) *queue.Packet {
	if l.owner == 0 {
		return m.apQueue.Head(l.station, nowNs)
	}
	return m.terminals[l.station].queue.Head()
}

func (m *Medium) pop(l *link, nowNs int64) {
	if l.owner == 0 {
		m.apQueue.Pop(l.station, nowNs)
		return
	}
	m.terminals[l.station].queue.Pop(nowNs)
}
