package share

import (
	"strings"
	"testing"
	"time"

	"airtide/internal/share/allocate"
	"airtide/internal/share/control"
	"airtide/internal/share/message"
)

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
