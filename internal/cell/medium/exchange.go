package medium

import (
	"slices"

	"airtide/internal/cell/queue"
)

// access handles the end of a back-off. It finds the first transmitter and all contenders that
// transmit before they have heard it.
func (m *Medium) access(nowNs int64) {
	m.onAir = m.onAir[:0]
	firstNs := int64(never)
	lastNs := int64(0)
	idleSlots := int64(0)
	for _, k := range m.due(nowNs + ccaNs) {
		i := int(k)
		c := &m.contenders[k]
		atNs := c.accessNs
		c.accessNs = never
		left := int64(never)
		if c.txopNs > 0 {
			left = c.txopNs
		}
		if !m.transmit(i, nowNs, atNs, left, true) {
			continue // a discipline has dropped all that it had
		}
		m.counters[i].TXOPs++
		if i == 0 {
			m.downs[m.lastDown].TXOPs++
		}
		idleSlots = max(idleSlots, (atNs-m.countedFrom(c))/c.slotNs)
		c.onAir = true
		c.inStep = false
		c.slots = 0
		m.onAir = append(m.onAir, i)
		firstNs = min(firstNs, atNs)
		lastNs = max(lastNs, m.transmissions[i].endNs)
	}
	if len(m.onAir) == 0 {
		m.nextNs = m.earliest()
		return
	}
	if m.contention != nil {
		m.contention.heard(idleSlots)
	}
	m.heardNs = firstNs + ccaNs
	m.busyFromNs = firstNs
	m.phase = collided
	if len(m.onAir) == 1 {
		m.phase = sending
		m.txopStartNs = firstNs
	} else if m.rtsBytes > 0 {
		lastNs = m.cutToRTS()
	}
	m.nextNs = lastNs
	m.runCallbacks(nowNs)
}

// cutToRTS shortens PPDUs that collide to their RTS, which nobody answers. It returns the end of
// the last one.
func (m *Medium) cutToRTS() (lastNs int64) {
	for _, i := range m.onAir {
		t := &m.transmissions[i]
		if t.rts {
			saved := t.endNs - t.startNs - t.radio.rtsNs
			t.endNs -= saved
			m.counters[i].AirtimeNs -= saved
			if i == 0 {
				m.downs[t.link.station].AirtimeNs -= saved
			}
		}
		lastNs = max(lastNs, t.endNs)
	}
	return lastNs
}

// due are the contenders that transmit before a time, in their order.
func (m *Medium) due(beforeNs int64) []int32 {
	m.ready = m.ready[:0]
	for k := range m.steps {
		s := &m.steps[k]
		for atNs := s.nextNs(); atNs < beforeNs; atNs = s.nextNs() {
			had := len(m.ready)
			m.ready = s.take(m, s.soonest, m.ready)
			for _, i := range m.ready[had:] {
				m.contenders[i].accessNs = atNs
			}
			if s.slotNs >= ccaNs {
				break // the next slot is too late
			}
		}
	}
	for _, i := range m.apart {
		if m.contenders[i].accessNs < beforeNs {
			m.ready = append(m.ready, i)
		}
	}
	if len(m.ready) > 1 && len(m.steps) > 0 {
		slices.Sort(m.ready)
	}
	return m.ready
}

// earliest returns the time of the next access or beacon if the medium stays idle.
func (m *Medium) earliest() int64 {
	at := m.beacons.nextNs
	for k := range m.steps {
		at = min(at, m.steps[k].nextNs())
	}
	for _, i := range m.apart {
		at = min(at, m.contenders[i].accessNs)
	}
	return at
}

// transmit makes a contender's next PPDU, which begins now or a little later.
func (m *Medium) transmit(i int, nowNs, startNs, leftNs int64, first bool) bool {
	t := &m.transmissions[i]
	if i == 0 {
		station, ok := m.turn(nowNs)
		if !ok {
			return false
		}
		m.lastDown = station
		t.link = &m.terminals[station].down
	} else {
		t.link = &m.terminals[i-1].up
	}
	full := i > 0 && m.Free(i-1) <= 0
	t.radio = m.radioAt(t.link.station, startNs)
	t.startNs = startNs
	if !m.compose(t, nowNs, leftNs, first) {
		return false
	}
	if full && m.room != nil && m.Free(i-1) > 0 {
		m.roomy = append(m.roomy, i-1)
	}
	m.counters[i].sent(t)
	if i == 0 {
		m.downs[t.link.station].sent(t)
	}
	m.backlog(i, nowNs)
	return true
}

// turn returns the station that the access point serves next. Repetitions wait for the station's
// turn, so that a station with frame errors gets no additional turns. If nothing else waits for the
// station, it is served at once.
func (m *Medium) turn(nowNs int64) (station int, ok bool) {
	if s, ok := m.repeatOnly(); ok {
		return s, true
	}
	if s, ok := m.apQueue.Turn(nowNs); ok {
		return s, true
	}
	// If the discipline has dropped the station's packets, only repetitions are left.
	return m.repeatOnly()
}

func (m *Medium) repeatOnly() (station int, ok bool) {
	if m.repeating == 0 {
		return 0, false
	}
	s := m.lastDown
	for range m.terminals {
		s = (s + 1) % len(m.terminals)
		if m.terminals[s].down.hasRepeats() && m.apQueue.LenOf(s) == 0 {
			return s, true
		}
	}
	return 0, false
}

// arrive handles the end of a PPDU without collision. The receiver takes the frames without error
// and delivers those in order.
func (m *Medium) arrive(nowNs int64) {
	i := m.onAir[0]
	t := &m.transmissions[i]
	counters := &m.counters[i]
	if !t.bar {
		m.receive(i, t)
		counters.FrameErrors += int64(t.lost)
		unanswered := t.lost == len(t.seqs)
		if unanswered {
			counters.Unanswered++
		}
		if i == 0 {
			down := &m.downs[t.link.station]
			down.FrameErrors += int64(t.lost)
			if unanswered {
				down.Unanswered++
			}
		}
		if unanswered {
			m.charge(t)
			m.fail(i)
			m.becomeIdle(nowNs, m.eifsNs)
			return
		}
	}
	m.phase = answered
	m.nextNs = nowNs + m.sifsNs + t.answerNs()
	link := t.link
	link.bar = link.bar && !t.bar
	for p := link.release(t.bar); p != nil; p = link.release(t.bar) {
		counters.delivered(p, nowNs)
		if i == 0 {
			m.downs[p.Station].delivered(p, nowNs)
		}
		m.deliver(p, nowNs)
	}
}

func (m *Medium) receive(i int, t *transmission) {
	rate := m.terminals[t.link.station].frameErrorRate
	for _, seq := range t.seqs {
		if rate > 0 && m.rand.Float64() < rate {
			t.lost++
			continue
		}
		t.link.at(seq).state = received
	}
	arrived := len(t.seqs) - t.lost
	t.link.waiting -= arrived
	m.inFlight[i] -= arrived
}

// succeed is the end of the answer: the sender goes on with its TXOP or leaves the medium with a
// new back-off.
func (m *Medium) succeed(nowNs int64) {
	i := m.onAir[0]
	t := &m.transmissions[i]
	c := &m.contenders[i]
	c.succeeded()
	m.charge(t)
	if t.lost > 0 {
		m.repeat(i, c)
	}
	m.listDown(t.link)
	m.backlog(i, nowNs)
	if c.txopNs > 0 && m.hasFrames(i) {
		left := c.txopNs - (nowNs - m.txopStartNs) - m.sifsNs
		if left > 0 && m.transmit(i, nowNs, nowNs+m.sifsNs, left, false) {
			m.phase = sending
			m.nextNs = t.endNs
			m.runCallbacks(nowNs)
			return
		}
	}
	m.draw(c)
	m.becomeIdle(nowNs, 0)
}

// collide is the end of the longest of the PPDUs that collided.
func (m *Medium) collide(nowNs int64) {
	for _, i := range m.onAir {
		t := &m.transmissions[i]
		m.counters[i].Collisions++
		if i == 0 {
			m.downs[t.link.station].Collisions++
		}
		m.charge(t)
		m.fail(i)
	}
	extra := int64(0)
	if m.eifsAfterCollision {
		extra = m.eifsNs
	}
	m.becomeIdle(nowNs, extra)
}

// fail handles a missing acknowledgement at the sender.
func (m *Medium) fail(i int) {
	t := &m.transmissions[i]
	c := &m.contenders[i]
	c.failed()
	if !t.bar {
		m.repeat(i, c)
		if m.phase == collided && m.barAfterCollision && len(t.seqs) > 1 && !t.rts {
			t.link.bar = true
		}
	}
	m.listDown(t.link)
	m.draw(c)
}

// repeat counts the failed attempts of a transmission's frames and drops the frames at the retry
// limit.
func (m *Medium) repeat(i int, c *contender) {
	t := &m.transmissions[i]
	before := len(m.dropped)
	m.dropped = t.link.retry(t.seqs, c.retryLimit, m.dropped)
	dropped := len(m.dropped) - before
	m.counters[i].Drops[queue.PlaceRetryLimit] += int64(dropped)
	if i == 0 {
		m.downs[t.link.station].Drops[queue.PlaceRetryLimit] += int64(dropped)
	}
	m.inFlight[i] -= dropped
	if dropped > 0 && !c.edca {
		c.succeeded() // the window is reset with the retry count (10.3.3)
	}
}

// charge reports a transmission's airtime to the discipline.
func (m *Medium) charge(t *transmission) {
	m.apQueue.Charge(t.link.station, t.endNs-t.startNs+m.sifsNs+t.answerNs())
}

// listDown keeps the number of down links that have something to repeat.
func (m *Medium) listDown(l *link) {
	if l.owner != 0 || l.listed == l.hasRepeats() {
		return
	}
	l.listed = !l.listed
	if l.listed {
		m.repeating++
	} else {
		m.repeating--
	}
}

// becomeIdle restarts the count of idle slots after a transmission. Contenders that heard an
// erroneous frame wait for EIFS, extraNs longer. The sender waits until the time of the
// acknowledgement is over, then for AIFS or DIFS (10.23.2.4 c).
func (m *Medium) becomeIdle(nowNs, extraNs int64) {
	failed := m.phase == collided || m.phase == sending
	if m.beacons.nextNs <= nowNs {
		m.beacons.failed = failed
		m.beacon(nowNs + m.beacons.pifsNs)
		m.runCallbacks(nowNs)
		return
	}
	m.listen(nowNs, extraNs, failed)
}

// listen has all count slots again.
func (m *Medium) listen(nowNs, extraNs int64, failed bool) {
	m.phase = idle
	m.busyNs += nowNs - m.busyFromNs
	if len(m.steps) == 0 {
		m.restartEach(nowNs, extraNs, failed)
	} else {
		m.restartStep(nowNs, extraNs, failed)
	}
	m.nextNs = m.earliest()
	m.runCallbacks(nowNs)
}

// restartEach restarts the count of slots for each contender separately.
func (m *Medium) restartEach(nowNs, extraNs int64, failed bool) {
	var idle idleSlots
	for i := range m.contenders {
		c := &m.contenders[i]
		fromNs := nowNs + extraNs
		wants := c.accessNs != never
		if c.onAir {
			fromNs, wants = m.leftAir(i, nowNs, failed)
		} else if c.slots != 0 {
			idle.freeze(m.heardNs, c)
		}
		c.idleFrom(fromNs+c.aifsNs, wants)
	}
}

// restartStep restarts the count of slots for all contenders as one step, except for those whose
// slots start at another time.
func (m *Medium) restartStep(nowNs, extraNs int64, failed bool) {
	var idle idleSlots
	for k := range m.steps {
		s := &m.steps[k]
		s.freeze(m, m.heardNs)
		s.startNs = nowNs + extraNs + s.aifsNs
	}
	apart := m.apart
	m.apart = m.apart[:0]
	for _, i := range apart {
		c := &m.contenders[i]
		if c.onAir {
			continue
		}
		wants := c.accessNs != never
		if c.slots != 0 {
			idle.freeze(m.heardNs, c)
		}
		m.steps[c.step].join(m, i, wants)
	}
	for _, i := range m.onAir {
		c := &m.contenders[i]
		fromNs, wants := m.leftAir(i, nowNs, failed)
		if fromNs == nowNs+extraNs {
			m.steps[c.step].join(m, int32(i), wants)
			continue
		}
		c.idleFrom(fromNs+c.aifsNs, wants)
		m.apart = append(m.apart, int32(i))
	}
}

// leftAir is from when on the medium is idle for a contender that has transmitted, and whether it
// has something to send.
func (m *Medium) leftAir(i int, nowNs int64, failed bool) (fromNs int64, wants bool) {
	m.contenders[i].onAir = false
	if !failed {
		return nowNs, m.hasFrames(i)
	}
	m.backlog(i, nowNs)
	t := &m.transmissions[i]
	return max(nowNs, t.endNs+t.radio.timeoutNs), m.hasFrames(i)
}

// runCallbacks runs the callbacks that were postponed until the state was consistent.
func (m *Medium) runCallbacks(nowNs int64) {
	for _, p := range m.dropped {
		m.drop(p, queue.PlaceRetryLimit, nowNs)
	}
	m.dropped = m.dropped[:0]
	for _, station := range m.roomy {
		m.room(station, nowNs)
	}
	m.roomy = m.roomy[:0]
}
