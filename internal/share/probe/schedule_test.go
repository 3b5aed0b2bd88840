package probe

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"airtide/internal/share/message"
)

const ms = time.Millisecond

// members are terminals whose reports reach each other late and now and then not at all.
type members struct {
	now    time.Duration
	period time.Duration
	loss   float64
	turns  []*Schedule
	due    []time.Duration
	newest [][]message.Peer // at each, of each
	random *rand.Rand
}

// peerOf is a peer with a session that announces a probe in a report that came at a time.
func peerOf(session uint64, turn message.Probe, at time.Duration) message.Peer {
	return message.Peer{Report: message.Report{Session: session, Probe: turn}, HeardNs: int64(at)}
}

func newMembers(n int, period time.Duration, loss float64) *members {
	m := &members{period: period, loss: loss, random: rand.New(rand.NewPCG(uint64(n), 5)), now: time.Hour}
	for i := range n {
		m.turns = append(m.turns, New(uint64(i+1)))
		m.due = append(m.due, m.now+time.Duration(i)*period/time.Duration(n))
		m.newest = append(m.newest, make([]message.Peer, n))
	}
	return m
}

// step lets 10 ms pass; each knows only what has arrived.
func (m *members) step() {
	m.now += 10 * ms
	for i, t := range m.turns {
		if m.now < m.due[i] {
			continue
		}
		m.due[i] = m.now + m.period
		for j := range m.turns {
			if j != i && m.random.Float64() >= m.loss {
				late := time.Duration(m.random.IntN(20)) * ms
				m.newest[j][i] = peerOf(uint64(i+1), t.Announced(m.now).At(m.now), m.now+late)
			}
		}
	}
	for j, t := range m.turns {
		var known []message.Peer
		for _, h := range m.newest[j] {
			if h.Report.Session != 0 && time.Duration(h.HeardNs) <= m.now {
				known = append(known, h)
			}
		}
		t.Update(m.now, known)
	}
}

func (m *members) phases() (all []Active) {
	for _, t := range m.turns {
		all = append(all, t.Active(m.now))
	}
	return all
}

// All want to be alone at the same moment: each is, one after the other, and the others know of it.
func TestEachGetsItsTurn(t *testing.T) {
	for _, loss := range []float64{0, 0.1} {
		m := newMembers(4, 200*ms, loss)
		var alone [4]time.Duration // with all others holding back
		var anyhow, both time.Duration
		for range 1000 {
			m.step()
			phases := m.phases()
			for i, turns := range m.turns {
				if alone[i] < 250*ms {
					turns.Propose(m.now, message.RateProbe, 400*ms, 500*ms)
				}
				if !phases[i].Own {
					continue
				}
				anyhow += 10 * ms
				others := 0
				for j, p := range phases {
					if j != i && p.Kind == message.RateProbe && !p.Own {
						others++
					} else if j != i && p.Own {
						both += 10 * ms
					}
				}
				if others == 3 {
					alone[i] += 10 * ms
				}
			}
		}
		if slices.Min(alone[:]) < 250*ms {
			t.Errorf("with a loss of %g they were alone for %v", loss, alone)
		}
		if both > anyhow/10 {
			t.Errorf("with a loss of %g two thought for %s of %s that it was their turn", loss, both, anyhow)
		}
	}
}

func TestATurnIsKeptThoughReportsDiffer(t *testing.T) {
	turns := New(9)
	hear := func(now time.Duration, h message.Peer) {
		turns.Update(now, []message.Peer{h})
	}
	ask := func(in, at time.Duration) message.Peer {
		return peerOf(4, message.ProbeIn(message.RateProbe, in, 400*ms), at)
	}
	hear(1000*ms, ask(600*ms, 1000*ms))
	hear(1200*ms, ask(375*ms, 1200*ms)) // a faster one: at 1575
	hear(1400*ms, ask(300*ms, 1400*ms)) // a slower one
	if next, known := turns.NextChange(1400 * ms); !known || next != 1575*ms {
		t.Errorf("it begins at %s, %v", next, known)
	}
	if p := turns.Active(1574 * ms); p.Kind != message.NoProbe {
		t.Errorf("too early: %+v", p)
	}
	hear(1600*ms, peerOf(4, message.Probe{}, 1600*ms)) // what has begun is not said any more
	if p := turns.Active(1600 * ms); p.Kind != message.RateProbe || p.Own || p.End != 1975*ms {
		t.Errorf("in the turn: %+v", p)
	}
	hear(1980*ms, peerOf(4, message.Probe{}, 1980*ms))
	if p := turns.Active(1980 * ms); p.Kind != message.NoProbe || turns.ended != 1975*ms {
		t.Errorf("behind it: %+v, ended at %s", p, turns.ended)
	}
	// One that is called off.
	hear(3000*ms, ask(600*ms, 3000*ms))
	hear(3200*ms, peerOf(4, message.Probe{}, 3200*ms))
	if p := turns.Active(3700 * ms); p.Kind != message.NoProbe {
		t.Errorf("called off: %+v", p)
	}
}

// A member that asks for turns without end has the others hold back for a tenth of the time and
// three seconds.
func TestWhoAsksWithoutEndIsHeldToABound(t *testing.T) {
	turns := New(9)
	held := time.Duration(0)
	const length = 100 * time.Second
	for now := time.Duration(0); now < length; now += 10 * ms {
		session := 4 + uint64(now/time.Second) // again and again another
		turns.Update(now, []message.Peer{peerOf(session, message.ProbeIn(message.RateProbe, 0, 400*ms), now), peerOf(3, message.Probe{}, now)})
		if turns.Active(now).Kind == message.RateProbe {
			held += 10 * ms
		}
	}
	if held > holdBackSaved+length/10+400*ms || held < time.Second {
		t.Errorf("held back for %s of %s", held, length)
	}
}

func TestAllAreReleasedWhileOneSaysSo(t *testing.T) {
	m := newMembers(3, 200*ms, 0.2)
	for range 100 {
		m.step()
	}
	m.turns[0].ReleaseUntil(m.now + 20*time.Second)
	begun := m.now
	for m.now < begun+19*time.Second {
		m.step()
		for i, p := range m.phases() {
			if p.Kind != message.ReleaseProbe && m.now > begun+2*time.Second {
				t.Fatalf("after %s terminal %d is not released", m.now-begun, i+1)
			}
		}
	}
	for m.now < begun+24*time.Second {
		m.step()
	}
	for i, p := range m.phases() {
		if p.Kind != message.NoProbe {
			t.Errorf("terminal %d is still released", i+1)
		}
	}
}

func TestNothingIsAskedForThatCannotBeSaid(t *testing.T) {
	turns := New(1)
	if turns.Propose(0, message.RateProbe, 400*ms, 10*time.Second) || turns.Propose(0, message.RateProbe, 20*time.Second, 500*ms) {
		t.Error("a report has no room for it")
	}
	if !turns.Propose(0, message.RateProbe, 400*ms, 500*ms) || turns.Propose(0, message.RateProbe, 400*ms, 500*ms) {
		t.Error("one at a time")
	}
}

// TestOneAnswerIsForAllWhoAsk: all want all to hold back at about the same time, and go on asking
// until they have seen it.
func TestOneAnswerIsForAllWhoAsk(t *testing.T) {
	for _, apart := range []time.Duration{0, 50 * ms, 150 * ms} {
		m := newMembers(4, 250*ms, 0)
		begins := make([]int, 4)
		was := make([]bool, 4)
		seen := make([]time.Duration, 4) // when its last one ended
		wants := m.now
		run := func(d time.Duration) {
			for end := m.now + d; m.now < end; {
				m.step()
				for i, x := range m.turns {
					still := x.Active(m.now).Kind == message.RTTProbe
					if still && !was[i] {
						begins[i]++
					}
					if was[i] && !still {
						seen[i] = m.now
					}
					was[i] = still
					if wants > 0 && m.now >= wants+time.Duration(i)*apart && seen[i] < wants {
						x.Propose(m.now, message.RTTProbe, 200*ms, 600*ms)
					}
				}
			}
		}
		run(3 * time.Second)
		if !slices.Equal(begins, []int{1, 1, 1, 1}) {
			t.Errorf("asked %s apart, they held back %v times, want once", apart, begins)
		}
		wants = 0
		if !m.turns[3].Propose(m.now, message.RTTProbe, 200*ms, 600*ms) {
			t.Errorf("asked %s apart: later there may be no other", apart)
		}
		run(2 * time.Second)
		if !slices.Equal(begins, []int{2, 2, 2, 2}) {
			t.Errorf("asked %s apart and once more, they held back %v times, want twice", apart, begins)
		}
	}
}

// TestWhoAsksForWhatNeverComesKeepsNobodyFromIt: a member moves its turn before it begins, again
// and again.
func TestWhoAsksForWhatNeverComesKeepsNobodyFromIt(t *testing.T) {
	x := New(1)
	begin, asked := time.Hour, time.Duration(0)
	for now := begin; now < begin+5*time.Second && asked == 0; now += 100 * ms {
		x.Update(now, []message.Peer{peerOf(2, message.ProbeIn(message.RTTProbe, time.Second, 200*ms), now)})
		if x.Propose(now, message.RTTProbe, 200*ms, 300*ms) {
			asked = now - begin
		}
	}
	if asked < time.Second || asked > 2*time.Second {
		t.Errorf("it asked for a turn of its own after %s", asked)
	}
}
