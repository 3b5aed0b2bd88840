package probe

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"airtide/internal/share/message"
)

const ms = time.Millisecond

// members are terminals whose reports are delayed and sometimes lost.
type members struct {
	now       time.Duration
	period    time.Duration
	loss      float64
	schedules []*Schedule
	due       []time.Duration
	newest    [][]message.Peer // index: receiver, sender
	random    *rand.Rand
}

// peerOf returns a peer whose report arrived at a time and announces a probe.
func peerOf(session uint64, announced message.Probe, at time.Duration) message.Peer {
	return message.Peer{Report: message.Report{Session: session, Probe: announced}, HeardNs: int64(at)}
}

func newMembers(n int, period time.Duration, loss float64) *members {
	m := &members{period: period, loss: loss, random: rand.New(rand.NewPCG(uint64(n), 5)), now: time.Hour}
	for i := range n {
		m.schedules = append(m.schedules, New(uint64(i+1)))
		m.due = append(m.due, m.now+time.Duration(i)*period/time.Duration(n))
		m.newest = append(m.newest, make([]message.Peer, n))
	}
	return m
}

// step advances the time by 10 ms. Each terminal knows only the reports that have arrived.
func (m *members) step() {
	m.now += 10 * ms
	for i, t := range m.schedules {
		if m.now < m.due[i] {
			continue
		}
		m.due[i] = m.now + m.period
		for j := range m.schedules {
			if j != i && m.random.Float64() >= m.loss {
				late := time.Duration(m.random.IntN(20)) * ms
				m.newest[j][i] = peerOf(uint64(i+1), t.Announced(m.now).At(m.now), m.now+late)
				m.newest[j][i].Source = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 0)
			}
		}
	}
	for j, t := range m.schedules {
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
	for _, t := range m.schedules {
		all = append(all, t.Active(m.now))
	}
	return all
}

func TestAProbeKeepsItsTimesIfReportsDiffer(t *testing.T) {
	schedule := New(9)
	hear := func(now time.Duration, h message.Peer) {
		schedule.Update(now, []message.Peer{h})
	}
	ask := func(in, at time.Duration) message.Peer {
		return peerOf(4, message.ProbeIn(message.RTTProbe, in, 400*ms), at)
	}
	hear(1000*ms, ask(600*ms, 1000*ms))
	hear(1200*ms, ask(375*ms, 1200*ms)) // with less delay: the probe begins at 1575
	hear(1400*ms, ask(300*ms, 1400*ms)) // with more delay
	if next, known := schedule.NextChange(1400 * ms); !known || next != 1575*ms {
		t.Errorf("it begins at %s, %v", next, known)
	}
	if p := schedule.Active(1574 * ms); p.Kind != message.NoProbe {
		t.Errorf("too early: %+v", p)
	}
	hear(1600*ms, peerOf(4, message.Probe{}, 1600*ms)) // a running probe is not announced
	if p := schedule.Active(1600 * ms); p.Kind != message.RTTProbe || p.Own || p.End != 1975*ms {
		t.Errorf("during the probe: %+v", p)
	}
	hear(1980*ms, peerOf(4, message.Probe{}, 1980*ms))
	if p := schedule.Active(1980 * ms); p.Kind != message.NoProbe || schedule.ended != 1975*ms {
		t.Errorf("after the probe: %+v, ended at %s", p, schedule.ended)
	}
	// A peer cancels its probe.
	hear(3000*ms, ask(600*ms, 3000*ms))
	hear(3200*ms, peerOf(4, message.Probe{}, 3200*ms))
	if p := schedule.Active(3700 * ms); p.Kind != message.NoProbe {
		t.Errorf("after the cancellation: %+v", p)
	}
}

// A member that announces probes without end, in ever new sessions, holds the others back for two
// seconds and a tenth of the time at most. Members at more addresses have four seconds together.
func TestEndlessProbesAreLimited(t *testing.T) {
	const length = 100 * time.Second
	for _, c := range []struct {
		addresses    int
		saved, early time.Duration
	}{{1, eachSaved, eachSaved}, {2, holdBackSaved, 2 * eachSaved}, {20, holdBackSaved, holdBackSaved}} {
		schedule := New(9)
		held := time.Duration(0)
		early := time.Duration(0) // in the first five seconds
		for now := 10 * ms; now < length; now += 10 * ms {
			session := 4 + uint64(now/time.Second) // a new session each second
			hostile := peerOf(session, message.ProbeIn(message.RTTProbe, 0, 400*ms), now)
			at := byte(int(now/(400*ms)) % c.addresses)
			hostile.Source = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, at}), 0)
			schedule.Update(now, []message.Peer{hostile, peerOf(3, message.Probe{}, now)})
			if schedule.Active(now).Kind == message.RTTProbe {
				held += 10 * ms
				if now < 5*time.Second {
					early += 10 * ms
				}
			}
		}
		if held > c.saved+length/10+400*ms || held < time.Second {
			t.Errorf("by %d addresses held back for %s of %s", c.addresses, held, length)
		}
		if most := min(c.early+900*ms, 5*time.Second); early > most {
			t.Errorf("by %d addresses held back for %s of the first 5 s, at most %s allowed", c.addresses, early, most)
		}
	}
}

// A member that announces releases without end is followed for ten seconds and a twentieth of the
// time. A terminal that has found itself that bounds do not help follows it all the time.
func TestEndlessReleasesAreLimited(t *testing.T) {
	const length = 200 * time.Second
	for _, agreed := range []bool{false, true} {
		schedule := New(9)
		released := time.Duration(0)
		schedule.AgreeToRelease(agreed)
		for now := 100 * ms; now < length; now += 100 * ms {
			session := 4 + uint64(now/(10*time.Second))
			announced := message.ProbeIn(message.ReleaseProbe, 0, 3*time.Second)
			schedule.Update(now, []message.Peer{peerOf(session, announced, now)})
			if schedule.Active(now).Kind == message.ReleaseProbe {
				released += 100 * ms
			}
		}
		if agreed && released < length-time.Second {
			t.Errorf("released for %s of %s, though this terminal agrees", released, length)
		}
		if most := releaseSaved + length/20 + 4*time.Second; !agreed && (released > most || released < releaseSaved) {
			t.Errorf("released for %s of %s, want %s to %s", released, length, releaseSaved, most)
		}
	}
}

func TestAReleaseProbeReleasesAllTerminals(t *testing.T) {
	m := newMembers(3, 200*ms, 0.2)
	for range 100 {
		m.step()
	}
	m.schedules[0].ReleaseUntil(m.now + 20*time.Second)
	for _, s := range m.schedules {
		s.AgreeToRelease(true) // a terminal that does not agree would not follow so long a release
	}
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

func TestProposalsThatDoNotFitAReportAreRefused(t *testing.T) {
	schedule := New(1)
	if schedule.Propose(0, message.RTTProbe, 400*ms, 10*time.Second) ||
		schedule.Propose(0, message.RTTProbe, 20*time.Second, 500*ms) {
		t.Error("planned a probe that does not fit into a report")
	}
	if !schedule.Propose(0, message.RTTProbe, 400*ms, 500*ms) ||
		schedule.Propose(0, message.RTTProbe, 400*ms, 500*ms) {
		t.Error("want exactly one planned probe")
	}
}

// All terminals propose an RTT probe at about the same time, until they have seen one. One probe
// serves all.
func TestOneRTTProbeServesAllTerminals(t *testing.T) {
	for _, apart := range []time.Duration{0, 50 * ms, 150 * ms} {
		m := newMembers(4, 250*ms, 0)
		begins := make([]int, 4)
		was := make([]bool, 4)
		seen := make([]time.Duration, 4) // end of the last probe
		wants := m.now
		run := func(d time.Duration) {
			for end := m.now + d; m.now < end; {
				m.step()
				for i, x := range m.schedules {
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
			t.Errorf("proposals %s apart: %v probes, want one each", apart, begins)
		}
		wants = 0
		if !m.schedules[3].Propose(m.now, message.RTTProbe, 200*ms, 600*ms) {
			t.Errorf("proposals %s apart: a later proposal was refused", apart)
		}
		run(2 * time.Second)
		if !slices.Equal(begins, []int{2, 2, 2, 2}) {
			t.Errorf("proposals %s apart and a later one: %v probes, want two each", apart, begins)
		}
	}
}

// A member postpones its RTT probe again and again. Another terminal plans its own probe.
func TestAPostponedProbeDoesNotBlockOthers(t *testing.T) {
	x := New(1)
	begin := time.Hour
	asked := time.Duration(0)
	for now := begin; now < begin+5*time.Second && asked == 0; now += 100 * ms {
		x.Update(now, []message.Peer{peerOf(2, message.ProbeIn(message.RTTProbe, time.Second, 200*ms), now)})
		if x.Propose(now, message.RTTProbe, 200*ms, 300*ms) {
			asked = now - begin
		}
	}
	if asked < time.Second || asked > 2*time.Second {
		t.Errorf("planned its own probe after %s, want 1 s to 2 s", asked)
	}
}
