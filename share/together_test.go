package share

import (
	"strings"
	"testing"
	"time"

	"airtide/share/allocate"
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
	// Who has less already is not given more to hold back with.
	small := bounds{up: []hold.Bound{{Packets: control.LeastWindow}}, down: map[tcp.FlowID]uint32{2: control.LeastWindow * 1448}}
	(&together{phase: control.Phase{Kind: message.Still}}).adapt(now, &small, &self{maximum: 100e6, flows: map[tcp.FlowID]*flow{2: {mss: 1448}}})
	if small.up[0].Packets != control.LeastWindow || small.down[2] != control.LeastWindow*1448 {
		t.Errorf("small windows that hold back: %+v, %d bytes", small.up[0], small.down[2])
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

// TestWhoBeginsToTakePartIsDoubtedNoLongerThanATurn: its queues were others' until then.
func TestWhoBeginsToTakePartIsDoubtedNoLongerThanATurn(t *testing.T) {
	now := time.Minute
	f := &flow{up: side{base: 2 * time.Millisecond, foreign: 60 * time.Millisecond}}
	peer := func(state message.State) []message.Peer {
		return []message.Peer{{Report: message.Report{Session: 7, State: state}, HeardNs: int64(now)}}
	}
	a := &agent{
		control: control.New(control.Options{}), self: self{flows: map[tcp.FlowID]*flow{1: f}},
		together: together{turns: control.NewTurns(1), still: stillness{at: now, every: stillForeign}},
	}
	step := func(state message.State) {
		a.peers = peer(state)
		a.together.hears(now, a)
	}
	step(message.Observing)
	if f.up.doubted || a.together.still.every != stillForeign {
		t.Errorf("somebody who takes no part made others' queues doubtful, to be looked for after %s", a.together.still.every)
	}
	step(message.Controlling)
	if !f.up.doubted || a.together.still.every != 0 {
		t.Errorf("with another who takes part: doubted %v, to be looked for after %s", f.up.doubted, a.together.still.every)
	}
	if f.up.stillSum, f.up.stillSteps = 3*time.Millisecond, 1; f.up.renew() || f.up.foreign != 0 {
		t.Errorf("one look without queues left them standing: %s", f.up.foreign)
	}
	f.up.foreign, a.together.still.every = 60*time.Millisecond, stillForeign
	step(message.Controlling)
	if f.up.doubted || a.together.still.every != stillForeign {
		t.Error("one who has taken part before made others' queues doubtful")
	}
	for _, c := range []struct {
		parted, away time.Duration
		doubted      bool
	}{
		{beginFor / 2, leftFor / 2, true},
		{beginFor, leftFor / 2, false},
		{beginFor, leftFor, true},
	} {
		f.up.doubted = false
		now += c.parted
		step(message.LetGo)
		now += c.away
		step(message.LetGo)
		step(message.Controlling)
		if f.up.doubted != c.doubted {
			t.Errorf("one who takes part again after %s: doubted %v", c.away, f.up.doubted)
		}
	}
}

// TestWhoBeginsToTakePartAndSendsIsMet: what it sent before was taken for somebody else's, or for the wire.
func TestWhoBeginsToTakePartAndSendsIsMet(t *testing.T) {
	peers := func(state message.State, mbps float64) []message.Peer {
		return []message.Peer{{Report: message.Report{Session: 7, State: state, UploadKbps: kbps(mbps * 1e6)}}}
	}
	tg := &together{}
	for _, step := range []struct {
		at           time.Duration
		state        message.State
		mbps         float64
		joined, sent bool
	}{
		{0, message.Observing, 50, false, false},
		{1, message.Controlling, 0, true, false},
		{2, message.Controlling, 50, false, true},
		{3, message.Controlling, 60, false, false},
		{4, message.LetGo, 60, false, false},
		{5, message.Controlling, 60, true, false}, // and may have queued more meanwhile
		{12, message.LetGo, 60, false, false},
		{13, message.Controlling, 60, false, false}, // nobody was heard for a second
		{14, message.LetGo, 60, false, false},
		{19, message.LetGo, 60, false, false},
		{20, message.Controlling, 0, true, false},
		{23, message.Controlling, 50, false, false}, // that has begun since
	} {
		joined, sent := tg.joined(step.at*time.Second, peers(step.state, step.mbps))
		if joined != step.joined || sent != step.sent {
			t.Errorf("after %d s: joined %v, sent before %v", step.at, joined, sent)
		}
	}
	if _, sent := tg.joined(time.Minute, nil); sent {
		t.Error("nobody was met")
	}
}

// TestWhoStaysHasNotJoinedAgain when what is known of many that are gone is forgotten.
func TestWhoStaysHasNotJoinedAgain(t *testing.T) {
	tg := together{}
	stays := message.Peer{Report: message.Report{Session: 1, State: message.Controlling}}
	tg.joined(time.Second, []message.Peer{stays})
	for i := range uint64(100) {
		now := 2*time.Second + time.Duration(i)*time.Second
		comes := message.Peer{Report: message.Report{Session: 2 + i, State: message.Controlling}}
		if joined, _ := tg.joined(now, []message.Peer{stays, comes}); !joined {
			t.Errorf("terminal %d has not joined", i)
		}
		if joined, _ := tg.joined(now, []message.Peer{stays}); joined {
			t.Errorf("who stays has joined again after %d terminals", i)
		}
		if len(tg.keep) > 32 {
			t.Fatalf("%d terminals are known of two", len(tg.keep))
		}
	}
}

// TestJustAfterATurnQueuesAreNotWhatTheyWere: how long all have to hold back follows from queues in between, not while they fill again.
func TestJustAfterATurnQueuesAreNotWhatTheyWere(t *testing.T) {
	const now, longest, mean = time.Minute, 80 * time.Millisecond, 3 * time.Millisecond
	const base, far = 2 * time.Millisecond, 200 * time.Millisecond
	for _, c := range []struct{ base, since, want time.Duration }{
		{base, settleAfter / 2, longest},
		{base, settleAfter + 3*base, mean},
		{far, settleAfter + 2*far, longest}, // what was sent at once has only just been answered
		{far, settleAfter + 3*far, far + mean - base},
	} {
		a := &agent{
			control:  control.New(control.Options{}),
			self:     self{up: direction{rate: 1e6, base: c.base, delay: mean - base}},
			together: together{turns: control.NewTurns(1), resumed: now - c.since, before: longest},
		}
		a.together.hears(now, a)
		if got := a.together.before; got != c.want {
			t.Errorf("%s after a turn, with a path of %s: %s, want %s", c.since, c.base, got, c.want)
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

// TestBoundsThatDoNotHelpAreLetGo: the agent of the lowest session asks all to let go for five minutes, and says so; the others leave it to it.
func TestBoundsThatDoNotHelpAreLetGo(t *testing.T) {
	const step = 100 * time.Millisecond
	for _, c := range []struct {
		what          string
		session       uint64
		with, without float64 // of all, in bit/s
		release       bool
	}{
		{"they cost a quarter", 1, 90e6, 120e6, true},
		{"they cost a quarter, and another one says so", 3, 90e6, 120e6, false},
		{"they help", 1, 240e6, 120e6, false},
	} {
		var said []string
		a := &agent{
			session: c.session, together: together{turns: control.NewTurns(c.session), heldSince: 1, triedAt: 1},
			config: Config{Notice: func(line string) { said = append(said, line) }},
			peers:  []message.Peer{{Report: message.Report{Session: 2, State: message.Controlling}}},
		}
		now := time.Hour
		for _, part := range []struct {
			phase control.Phase
			total float64
			steps int
		}{
			{control.Phase{}, c.with, 100},
			{control.Phase{Kind: message.Free, Begin: now + 100*step, End: now + 120*step}, c.without, 20},
			{control.Phase{}, c.with, 1},
		} {
			a.together.phase = part.phase
			for range part.steps {
				a.together.compare(now, a, []control.Terminal{{Rate: part.total / 2, RTT: 20 * time.Millisecond}, {Rate: part.total / 2, RTT: 20 * time.Millisecond}})
				now += step
			}
		}
		if a.together.effect == nil || a.together.effect.Helps() != (c.with > c.without) {
			t.Fatalf("%s: effect %+v", c.what, a.together.effect)
		}
		free := func(at time.Duration) bool {
			return a.together.turns.Phase(at).Kind == message.Free && a.together.turns.Saying(at).Kind == message.Free
		}
		if free(now) != c.release || free(now+releaseFor-time.Second) != c.release || free(now+releaseFor) {
			t.Errorf("%s: all are free now %t, in the end %t, afterwards %t", c.what, free(now), free(now+releaseFor-time.Second), free(now+releaseFor))
		}
		told := len(said) == 1 && strings.Contains(said[0], "does not help: 90 Mbit/s in all with bounds, 120 without; letting go for 5m0s")
		if told != c.release || (a.together.heldSince == 0) != c.release {
			t.Errorf("%s: it said %q", c.what, said)
		}
	}
}

// TestBesideOthersNobodyHasLess: two of some take part beside others whose queues stand. The total is as it would be and round-trip times are
// shorter, but one of the two has less than it would have without: after the second trial all let go, and everybody says why.
func TestBesideOthersNobodyHasLess(t *testing.T) {
	const step = 100 * time.Millisecond
	for _, c := range []struct {
		what    string
		session uint64
		foreign time.Duration
		slow    float64 // what it has with bounds, of 20 Mbit/s
		lets    bool
	}{
		{"one has less", 1, 60 * time.Millisecond, 17.6e6, true},
		{"one has less, and another one asks", 3, 60 * time.Millisecond, 17.6e6, true},
		{"nobody has less", 1, 60 * time.Millisecond, 19.8e6, false},
		{"there are no others", 1, 0, 17.6e6, false},
	} {
		var said []string
		a := &agent{
			session: c.session, together: together{turns: control.NewTurns(c.session), heldSince: 1, heard: heard{delay: c.foreign}},
			config: Config{Notice: func(line string) { said = append(said, line) }},
			peers:  []message.Peer{{Report: message.Report{Session: 2, State: message.Controlling}}},
		}
		now := time.Hour
		run := func(phase control.Phase, slow float64, length time.Duration) {
			a.together.phase = phase
			for end := now + length; now < end; now += step {
				a.together.beside(now, &a.self)
				rtt := 250 * time.Millisecond
				if phase.Kind == message.Free {
					rtt = 300 * time.Millisecond
				}
				a.together.compare(now, a, []control.Terminal{
					{Rate: slow, RTT: rtt, Demand: allocate.Unlimited},
					{Source: addressOf(1), Rate: 28e6, RTT: rtt, Demand: allocate.Unlimited},
				})
			}
		}
		for trial := range 2 {
			run(control.Phase{}, c.slow, 15*time.Second)
			run(control.Phase{Kind: message.Free, Begin: now, End: now + besideLength}, 20e6, besideLength)
			run(control.Phase{}, c.slow, step)
			released := a.together.turns.Phase(now).Kind == message.Free
			if want := c.lets && c.session == 1 && trial == 1; released != want || (len(said) > 0) != want {
				t.Errorf("%s: after trial %d all are free %t, it said %q", c.what, trial+1, released, said)
			}
		}
		if told := strings.Contains(a.together.free(now), "a terminal has 0.88 of what it has without"); told != c.lets {
			t.Errorf("%s: its status says %q", c.what, a.together.free(now))
		}
		if again := a.together.free(now + releaseFor + time.Second); strings.Contains(again, "help") {
			t.Errorf("%s: long after its status says %q", c.what, again)
		}
	}
}

// TestBesideOthersItIsTriedSooner: when their queues have stood for a while, and again soon when a terminal was found to have less, when all
// have held back once more.
func TestBesideOthersItIsTriedSooner(t *testing.T) {
	less := control.Effect{Least: 0.9}
	less.With.Total, less.Without.Total = 1, 1
	for _, c := range []struct {
		what                string
		beside, held, tried time.Duration // how long ago; 0 is never
		doubts              bool
		looked              time.Duration // how long ago
		tries, looks        bool
	}{
		{"all take part", 0, firstBeside, 0, false, 0, false, false},
		{"all take part, for long", 0, firstTrial, 0, false, 0, true, false},
		{"others' queues have begun", firstBeside / 2, time.Hour, 0, false, 0, false, false},
		{"bounds have begun beside others", time.Hour, firstBeside / 2, 0, false, 0, false, false},
		{"others' queues stand", firstBeside, time.Hour, 0, false, 0, true, false},
		{"it was tried", time.Hour, time.Hour, tryBeside / 2, false, 0, false, false},
		{"it was tried long ago", time.Hour, time.Hour, tryBeside, false, 0, true, false},
		{"somebody had less", time.Hour, time.Hour, firstBeside, true, tryBeside, true, true},
		{"somebody had less, and others' queues are there still", time.Hour, time.Hour, firstBeside, true, time.Second, true, false},
		{"somebody had less just now", time.Hour, time.Hour, firstBeside / 2, true, time.Second, false, false},
	} {
		const now = 10 * time.Hour
		ago := func(d time.Duration) time.Duration {
			if d == 0 {
				return 0
			}
			return now - d
		}
		w := &together{besideAt: ago(c.beside), heldSince: ago(c.held), triedAt: ago(c.tried), still: stillness{at: ago(c.looked)}}
		if c.doubts {
			w.judged.Take(less, true)
		}
		if w.triesNow(now) != c.tries || w.looksAgain() != c.looks {
			t.Errorf("%s: tries %t, looks again %t", c.what, w.triesNow(now), w.looksAgain())
		}
	}
}
