package share

import (
	"testing"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/share/message"
	"airtide/internal/tcp"
)

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
		if s.foreign() || f.up.beside(time.Second, 10*time.Millisecond, heard{}, 10) > 0 {
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
	window := func(recent time.Duration) (bytes float64) {
		f.up.recent = recent
		for range 50 {
			bytes = f.up.beside(100*time.Millisecond, 10*time.Millisecond, heard{}, 1e4)
		}
		return bytes
	}
	if first := f.up.beside(0, 10*time.Millisecond, heard{}, 1e4); first != 20e6*0.050/8 {
		t.Errorf("a window of %.0f bytes at first", first)
	}
	if most := window(120 * time.Millisecond); most != besideMost*20e6*besideRTT.Seconds()/8 {
		t.Errorf("a window of %.0f bytes where it is not enough for a long round-trip time", most)
	}
	if least := window(time.Second); least != 1e4 {
		t.Errorf("a window of %.0f bytes where the queue is its own", least)
	}
	f.up.foreign = 0
	if none := window(time.Second); none != 0 {
		t.Errorf("a window of %.0f bytes when the others are gone", none)
	}
}

// TestWindowsBesideOthersBeginWithWhatTheyWere: others' queues show in a turn, in which next to nothing is carried. Through a turn they stay as they are.
func TestWindowsBesideOthersBeginWithWhatTheyWere(t *testing.T) {
	const inTurn, usual, before = 1e6, 20e6, 600e3
	s := side{base: 2 * time.Millisecond, rate: usual, recent: 200 * time.Millisecond, foreign: 60 * time.Millisecond}
	f := &flow{mss: 1448, up: s}
	a := &agent{since: 100 * time.Millisecond, self: self{flows: map[tcp.FlowID]*flow{1: f}}, status: Status{ShareBps: usual}}
	window := func(share float64) float64 {
		f.up.activeUntil = time.Minute
		return a.windows(time.Second, (*flow).upward, 1, false, func(float64, time.Duration) float64 { return share })[0].bytes
	}
	f.up.foreign = 0
	if got := window(before); got != before {
		t.Fatalf("a window of %.0f bytes with nobody else", got)
	}
	a.together.phase = control.Phase{Kind: message.Still}
	f.up.foreign, f.up.rate = s.foreign, inTurn
	for range 3 {
		if got := window(before / 10); got != before {
			t.Errorf("a window of %.0f bytes after the turn in which others' queues showed, want %.0f", got, float64(before))
		}
	}
	f.up.doubted = true
	if got, want := window(before/10), besideMost*inTurn*besideRTT.Seconds()/8; got != want {
		t.Errorf("a window of %.0f bytes after a turn in which they did not, want %.0f", got, want)
	}
}

// TestWhatOthersFoundOfQueuesCounts: the least of what they tell.
func TestWhatOthersFoundOfQueuesCounts(t *testing.T) {
	peer := func(foreign bool, base, rtt uint32) message.Peer {
		return message.Peer{Report: message.Report{ForeignQueues: foreign, MinRTTUs: base, SmoothedRTTUs: rtt}}
	}
	delay := foreignDelay([]message.Peer{peer(false, 2000, 9000), peer(true, 2000, 62000), peer(true, 4000, 44000)})
	if delay != 40*time.Millisecond {
		t.Fatalf("%s heard", delay)
	}
	for _, short := range []message.Peer{peer(true, 2000, 3000), peer(true, 2000, 1000), peer(true, 0, 0)} {
		if got := foreignDelay([]message.Peer{peer(true, 2000, 62000), short}); got != foreignQueue {
			t.Errorf("%s heard of one whose round-trip times are short just now", got)
		}
	}
	if none := foreignDelay([]message.Peer{peer(false, 2000, 9000)}); none != 0 {
		t.Errorf("%s heard of nobody", none)
	}
	d := &side{base: 2 * time.Millisecond, rate: 20e6}
	if bytes := d.beside(0, 8*time.Millisecond, heard{delay: delay, stand: true}, 10); bytes != 20e6*0.050/8 {
		t.Errorf("a window of %.0f bytes", bytes)
	}
	if bytes := d.beside(0, 8*time.Millisecond, heard{}, 10); bytes != 0 {
		t.Errorf("a window of %.0f bytes when nobody finds any", bytes)
	}
}

// TestOneLookWithoutQueuesIsNotBelieved: others' queues come and go.
func TestOneLookWithoutQueuesIsNotBelieved(t *testing.T) {
	d := &side{base: 2 * time.Millisecond}
	look := func(rtt time.Duration) {
		d.stillSum, d.stillSteps = rtt, 1
		d.renew()
	}
	for i, step := range []struct {
		rtt, want time.Duration
		doubted   bool
	}{
		{3 * time.Millisecond, 0, false},
		{40 * time.Millisecond, 40 * time.Millisecond, false},
		{3 * time.Millisecond, 40 * time.Millisecond, true},
		{50 * time.Millisecond, 50 * time.Millisecond, false},
		{3 * time.Millisecond, 50 * time.Millisecond, true},
		{3 * time.Millisecond, 0, false},
	} {
		if look(step.rtt); d.foreign != step.want || d.doubted != step.doubted {
			t.Errorf("look %d: queues of %s, doubted %v", i+1, d.foreign, d.doubted)
		}
	}
}

// TestADoubtIsSettledSoon: others' queues that did not stand once are looked for again as soon as may be, for meanwhile windows are those beside others.
func TestADoubtIsSettledSoon(t *testing.T) {
	for _, c := range []struct {
		rtt, want time.Duration
	}{
		{3 * time.Millisecond, stillFirst},
		{60 * time.Millisecond, stillForeign},
	} {
		f := &flow{up: side{base: 2 * time.Millisecond, foreign: 60 * time.Millisecond, stillSum: c.rtt, stillSteps: 1}}
		a := &agent{
			control: control.New(control.Options{}), self: self{flows: map[tcp.FlowID]*flow{1: f}},
			together: together{turns: control.NewTurns(1), phase: control.Phase{Kind: message.Still}},
		}
		if a.together.hears(time.Minute, a); a.together.still.every != c.want {
			t.Errorf("after a look with RTTs of %s the next comes after %s, want %s", c.rtt, a.together.still.every, c.want)
		}
	}
}

// TestWhoSeesOthersQueuesIsEnough: one that has not seen them once has all hold back no sooner for it while another has, but when nobody has; who
// goes by what others see does so until all have held back once more.
func TestWhoSeesOthersQueuesIsEnough(t *testing.T) {
	const begun = time.Minute
	peers := func(sees bool) []message.Peer {
		return []message.Peer{{Report: message.Report{ForeignQueues: sees, MinRTTUs: 1000, SmoothedRTTUs: 61000}}}
	}
	for _, c := range []struct {
		name         string
		sees         bool
		now, pause   time.Duration
		delay        time.Duration
		doubted, own bool // of this terminal, and what it says to the others
	}{
		{"just after somebody has begun to take part", true, begun + beginFor/2, stillFirst, 60 * time.Millisecond, false, true},
		{"another has seen them", true, begun + beginFor, stillForeign, 60 * time.Millisecond, true, false},
		{"nobody has, the last time", false, begun + beginFor + stillFirst, stillFirst, 60 * time.Millisecond, true, false},
		{"nobody has twice", false, begun + beginFor + 2*stillFirst, stillFirst, 0, true, false},
	} {
		tg := together{joinedAt: begun, still: stillness{every: stillFirst}, heard: heard{60 * time.Millisecond, begun + beginFor, true}}
		tg.heard.hears(c.now, peers(c.sees))
		if got := tg.pause(c.now); got != c.pause || tg.heard.delay != c.delay {
			t.Errorf("%s: all hold back after %s, want %s; the delay is %s, want %s", c.name, got, c.pause, tg.heard.delay, c.delay)
		}
		s := self{flows: map[tcp.FlowID]*flow{1: {up: side{foreign: time.Second, doubted: c.doubted}}}}
		if got := s.report(message.Controlling, 0).ForeignQueues; got != c.own {
			t.Errorf("%s: says %v", c.name, got)
		}
	}
}

// TestAllHoldBackMoreAndMoreRarely while nothing changes.
func TestAllHoldBackMoreAndMoreRarely(t *testing.T) {
	var s stillness
	next := func(longer, changed, foreign bool) time.Duration {
		s.concluded(time.Minute, longer, changed, foreign)
		return s.every
	}
	for _, want := range []time.Duration{stillFirst, 2 * stillFirst, 4 * stillFirst} {
		if got := next(false, false, false); got != want {
			t.Errorf("%s until the next time, want %s", got, want)
		}
	}
	if got := next(true, false, false); got != stillFirst {
		t.Errorf("%s when the path seems to be longer", got)
	}
	if got := next(true, true, false); got != stillChanged {
		t.Errorf("%s after a change", got)
	}
	if got := next(false, true, true); got != stillForeign {
		t.Errorf("%s where others' queues are found", got)
	}
	for range 10 {
		next(false, false, false)
	}
	if s.every != stillRarest {
		t.Errorf("%s when nothing has changed ten times", s.every)
	}
}
