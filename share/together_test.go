package share

import (
	"testing"
	"time"

	"airtide/share/control"
	"airtide/share/hold"
	"airtide/share/message"
	"airtide/tcp"
)

// TestWindowsOfATurn adapts bounds of one flow that sends and one that receives.
func TestWindowsOfATurn(t *testing.T) {
	const now = time.Minute
	for _, c := range []struct {
		what  string
		phase control.Phase
		ended time.Duration // when a turn ended
		send  hold.Bound
		bytes uint32
	}{
		{"no turn", control.Phase{}, 0, hold.Bound{Packets: 100}, 50 * 1448},
		{"alone", control.Phase{Kind: message.Solo, Own: true}, 0, hold.Bound{Packets: 400, Least: 400}, 200 * 1448},
		{"another is alone", control.Phase{Kind: message.Solo}, 0, hold.Bound{Packets: 100, Pause: true}, 1448},
		{"all hold back", control.Phase{Kind: message.Still}, 0, hold.Bound{Packets: stillPackets}, stillPackets * 1448},
		{"just after a turn", control.Phase{}, now - resumeFor/2, hold.Bound{Packets: 100, Least: 100}, 50 * 1448},
		{"long after a turn", control.Phase{}, now - 2*resumeFor, hold.Bound{Packets: 100}, 50 * 1448},
	} {
		s := &self{maximum: 100e6, flows: map[tcp.FlowID]*flow{2: {mss: 1448}}}
		b := bounds{up: []hold.Bound{{Packets: 100}}, down: map[tcp.FlowID]uint32{2: 50 * 1448}}
		(&together{phase: c.phase, resumed: c.ended}).adapt(now, &b, s)
		if b.up[0] != c.send || b.down[2] != c.bytes {
			t.Errorf("%s: %+v, %d bytes", c.what, b.up[0], b.down[2])
		}
	}
	// What it reaches alone is not known: no less than an A-MPDU, of both together.
	s := &self{flows: map[tcp.FlowID]*flow{2: {mss: 1448}}}
	b := bounds{up: []hold.Bound{{Packets: 10}}, down: map[tcp.FlowID]uint32{2: 10 * 1448}}
	(&together{}).adapt(now, &b, s)
	if b.up[0].Packets != unknownPackets/2 || b.down[2] != unknownPackets/2*1448 {
		t.Errorf("unknown maximum: %+v, %d bytes", b.up[0], b.down[2])
	}
}

// TestALongerPathShowsWhileAllHoldBack: of the round-trip times only those count that came when queues were empty, and a path is longer when they are.
func TestALongerPathShowsWhileAllHoldBack(t *testing.T) {
	for _, c := range []struct {
		what    string
		drained time.Duration
		base    time.Duration
		longer  bool
	}{
		{"a queue", 3 * time.Millisecond, 2 * time.Millisecond, false},
		{"a longer path", 50 * time.Millisecond, 50 * time.Millisecond, true},
		{"a shorter path", time.Millisecond, time.Millisecond, false},
		{"nothing was sent", 0, 2 * time.Millisecond, false},
	} {
		f := &flow{up: side{base: 2 * time.Millisecond}}
		s := &self{flows: map[tcp.FlowID]*flow{1: f}}
		const begin, step = time.Minute, 50 * time.Millisecond
		f.up.least = 500 * time.Microsecond // of before
		s.still(begin+step, step, begin, 0)
		f.up.least, f.up.rtt = c.drained, c.drained+2*time.Millisecond
		s.still(begin+4*step, step, begin, 0)
		if longer := s.renewBases(); longer != c.longer || f.up.base != c.base {
			t.Errorf("%s: longer %v, smallest round-trip time %s", c.what, longer, f.up.base)
		}
		if s.foreign() || f.up.whole(10*time.Millisecond, 0) > 0 {
			t.Errorf("%s: taken for somebody else's queue", c.what)
		}
	}
}

// TestQueuesOfOthersShowWhileAllHoldBack: round-trip times are short now and then, and long in the mean.
func TestQueuesOfOthersShowWhileAllHoldBack(t *testing.T) {
	f := &flow{up: side{base: 2 * time.Millisecond, rate: 20e6}}
	s := &self{flows: map[tcp.FlowID]*flow{1: f}}
	for i, rtt := range []time.Duration{30 * time.Millisecond, 50 * time.Millisecond} {
		f.up.least, f.up.rtt = 4*time.Millisecond, rtt
		s.still(time.Minute+time.Duration(200+100*i)*time.Millisecond, 50*time.Millisecond, time.Minute, 0)
	}
	if longer := s.renewBases(); longer || f.up.base != 2*time.Millisecond || !s.foreign() {
		t.Errorf("longer %v, smallest round-trip time %s, foreign %v", longer, f.up.base, s.foreign())
	}
	if bytes := f.up.whole(10*time.Millisecond, 0); bytes != 2*20e6*0.050/8 {
		t.Errorf("a window of %.0f bytes", bytes)
	}
}

// TestWhatOthersFoundOfQueuesCountsForOneThatSawNothing: the least of what they tell, and only until it sees for itself.
func TestWhatOthersFoundOfQueuesCountsForOneThatSawNothing(t *testing.T) {
	peer := func(foreign bool, base, rtt uint32) message.Peer {
		return message.Peer{Report: message.Report{ForeignQueues: foreign, MinRTTUs: base, SmoothedRTTUs: rtt}}
	}
	heard := foreignDelay([]message.Peer{peer(false, 2000, 9000), peer(true, 2000, 62000), peer(true, 4000, 44000), peer(true, 0, 0)})
	if heard != 40*time.Millisecond {
		t.Fatalf("%s heard", heard)
	}
	if none := foreignDelay([]message.Peer{peer(false, 2000, 9000)}); none != 0 {
		t.Errorf("%s heard of nobody", none)
	}
	d := &side{base: 2 * time.Millisecond, rate: 20e6}
	if bytes := d.whole(8*time.Millisecond, heard); bytes != 2*20e6*0.050/8 {
		t.Errorf("a window of %.0f bytes", bytes)
	}
	d.stillSum, d.stillSteps = 3*time.Millisecond, 1
	d.renew()
	if bytes := d.whole(8*time.Millisecond, heard); bytes != 0 {
		t.Errorf("a window of %.0f bytes where it has seen that no queue stands", bytes)
	}
}
