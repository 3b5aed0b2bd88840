package control

import (
	"strings"
	"testing"
	"time"

	"airtide/internal/share/allocate"
	"airtide/internal/share/flow"
	"airtide/internal/share/message"
	"airtide/internal/share/probe"
)

// TestJustAfterAProbeQueuesAreNotAsBefore: the length of an RTT probe follows from queues outside
// probes, not while they fill again.
func TestJustAfterAProbeQueuesAreNotAsBefore(t *testing.T) {
	const now, longest, mean = time.Minute, 80 * time.Millisecond, 3 * time.Millisecond
	const base, far = 2 * time.Millisecond, 200 * time.Millisecond
	for _, c := range []struct{ base, since, want time.Duration }{
		{base, settleTime / 2, longest},
		{base, settleTime + 3*base, mean},
		{far, settleTime + 2*far, longest}, // the burst has only just been answered
		{far, settleTime + 3*far, far + mean - base},
	} {
		core := New(Config{Session: 1})
		core.flows.Send = flow.Total{Rate: 1e6, BaseRTT: c.base, Delay: mean - base}
		core.probe.ended = now - c.since
		core.probe.meanRTT = longest
		core.measure(now, Inputs{})
		if got := core.probe.meanRTT; got != c.want {
			t.Errorf("%s after a probe, with a path of %s: %s, want %s", c.since, c.base, got, c.want)
		}
	}
}

// TestBoundsThatDoNotHelpAreLetGo: the agent of the lowest session asks all to let go for five
// minutes, and says so; the others leave it to it.
func TestBoundsThatDoNotHelpAreLetGo(t *testing.T) {
	const step = 100 * time.Millisecond
	for _, c := range []struct {
		what          string
		session       uint64
		with, without float64 // total rate in bit/s
		release       bool
	}{
		{"they cost a quarter", 1, 90e6, 120e6, true},
		{"they cost a quarter, and another one says so", 3, 90e6, 120e6, false},
		{"they help", 1, 240e6, 120e6, false},
	} {
		core := New(Config{Session: c.session})
		core.benefit.boundSince = 1
		core.benefit.probedAt = 1
		peer := message.Report{Session: 2, State: message.Controlling, MaxKbps: 1}
		in := Inputs{Peers: []message.Peer{{Report: peer}}}
		now := time.Hour
		for _, part := range []struct {
			phase probe.Active
			total float64
			steps int
		}{
			{probe.Active{}, c.with, 100},
			{probe.Active{Kind: message.ReleaseProbe, Begin: now + 100*step, End: now + 120*step}, c.without, 20},
			{probe.Active{}, c.with, 1},
		} {
			core.probe.active = part.phase
			for range part.steps {
				all := []Terminal{{Source: source(1)}, {Source: source(2)}}
				for i := range all {
					all[i].Rate = part.total / 2
					all[i].RTT = 20 * time.Millisecond
				}
				core.compareBenefit(now, in, all)
				now += step
			}
		}
		if core.benefit.last == nil || core.benefit.last.Helps() != (c.with > c.without) {
			t.Fatalf("%s: effect %+v", c.what, core.benefit.last)
		}
		free := func(at time.Duration) bool {
			return core.schedule.Active(at).Kind == message.ReleaseProbe &&
				core.schedule.Announced(at).At(at).Kind == message.ReleaseProbe
		}
		if free(now) != c.release || free(now+releaseTime-time.Second) != c.release || free(now+releaseTime) {
			t.Errorf("%s: released now %t, at the end %t, afterwards %t",
				c.what, free(now), free(now+releaseTime-time.Second), free(now+releaseTime))
		}
		const notice = "do not help: 90 Mbit/s in all with bounds, 120 without; windows are released for 5m0s"
		told := len(core.notices) == 1 && strings.Contains(core.notices[0], notice)
		if told != c.release || (core.benefit.boundSince == 0) != c.release {
			t.Errorf("%s: it said %q", c.what, core.notices)
		}
	}
}

// TestBesideOthersNobodyHasLess: two of some take part beside others whose queues stand. The total
// is as it would be and round-trip times are shorter, but one of the two has less than it would
// have without: after the second trial all let go, and everybody says why.
func TestBesideOthersNobodyHasLess(t *testing.T) {
	const step = 100 * time.Millisecond
	for _, c := range []struct {
		what    string
		session uint64
		foreign bool
		slow    float64 // its rate with bounds, in bit/s; 20 Mbit/s without
		lets    bool
	}{
		{"one has less", 1, true, 17.6e6, true},
		{"one has less, and another one asks", 3, true, 17.6e6, true},
		{"nobody has less", 1, true, 19.8e6, false},
		{"there are no others", 1, false, 17.6e6, false},
	} {
		core := New(Config{Session: c.session})
		core.benefit.boundSince = 1
		core.baseRTT.reported.counts = c.foreign
		peer := message.Report{Session: 2, State: message.Controlling, MaxKbps: 1}
		in := Inputs{Peers: []message.Peer{{Report: peer}}}
		now := time.Hour
		run := func(phase probe.Active, slow float64, length time.Duration) {
			core.probe.active = phase
			for end := now + length; now < end; now += step {
				core.benefit.trackForeign(now, &core.baseRTT)
				rtt := 250 * time.Millisecond
				if phase.Kind == message.ReleaseProbe {
					rtt = 300 * time.Millisecond
				}
				core.compareBenefit(now, in, []Terminal{
					{Rate: slow, RTT: rtt, Demand: allocate.Unlimited},
					{Source: source(1), Rate: 28e6, RTT: rtt, Demand: allocate.Unlimited},
				})
			}
		}
		for trial := range 2 {
			run(probe.Active{}, c.slow, 15*time.Second)
			release := probe.Active{Kind: message.ReleaseProbe, Begin: now, End: now + foreignReleaseProbeLength}
			run(release, 20e6, foreignReleaseProbeLength)
			run(probe.Active{}, c.slow, step)
			released := core.schedule.Active(now).Kind == message.ReleaseProbe
			if want := c.lets && c.session == 1 && trial == 1; released != want || (len(core.notices) > 0) != want {
				t.Errorf("%s: after trial %d all are free %t, it said %q", c.what, trial+1, released, core.notices)
			}
		}
		told := strings.Contains(core.benefit.releaseReason(now), "a terminal has 0.88 of its rate without")
		if told != c.lets {
			t.Errorf("%s: its status says %q", c.what, core.benefit.releaseReason(now))
		}
		if again := core.benefit.releaseReason(now + releaseTime + time.Second); strings.Contains(again, "help") {
			t.Errorf("%s: long after its status says %q", c.what, again)
		}
	}
}

// TestBesideOthersItIsTriedSooner: when their queues have stood for a while, and again soon when a
// terminal was found to have less, when all have held back once more.
func TestBesideOthersItIsTriedSooner(t *testing.T) {
	less := Benefit{Least: 0.9}
	less.With.Total = 1
	less.Without.Total = 1
	for _, c := range []struct {
		what                string
		beside, held, tried time.Duration // time since then; 0: never
		doubts              bool
		looked              time.Duration // time since then
		tries, looks        bool
	}{
		{"all take part", 0, firstForeignProbe, 0, false, 0, false, false},
		{"all take part, for long", 0, firstReleaseProbe, 0, false, 0, true, false},
		{"others' queues have begun", firstForeignProbe / 2, time.Hour, 0, false, 0, false, false},
		{"bounds have begun beside others", time.Hour, firstForeignProbe / 2, 0, false, 0, false, false},
		{"others' queues stand", firstForeignProbe, time.Hour, 0, false, 0, true, false},
		{"it was tried", time.Hour, time.Hour, foreignProbeEvery / 2, false, 0, false, false},
		{"it was tried long ago", time.Hour, time.Hour, foreignProbeEvery, false, 0, true, false},
		{"somebody had less", time.Hour, time.Hour, firstForeignProbe, true, foreignProbeEvery, true, true},
		{"one had less, foreign queues stand", time.Hour, time.Hour, firstForeignProbe, true, time.Second, true, false},
		{"somebody had less just now", time.Hour, time.Hour, firstForeignProbe / 2, true, time.Second, false, false},
	} {
		const now = 10 * time.Hour
		ago := func(d time.Duration) time.Duration {
			if d == 0 {
				return 0
			}
			return now - d
		}
		w := &benefit{foreignSince: ago(c.beside), boundSince: ago(c.held), probedAt: ago(c.tried)}
		if c.doubts {
			w.judged.Judge(less, true)
		}
		if w.wantsReleaseProbe(now) != c.tries || w.wantsSecondRTTProbe(ago(c.looked)) != c.looks {
			t.Errorf("%s: release probe %t, second RTT probe %t",
				c.what, w.wantsReleaseProbe(now), w.wantsSecondRTTProbe(ago(c.looked)))
		}
	}
}

// TestAnotherAccessPointIsAnotherCell: what was measured in the old one is forgotten.
func TestAnotherAccessPointIsAnotherCell(t *testing.T) {
	c := New(Config{Session: 1, Weight: 1})
	c.baseRTT.reported.counts = true
	c.benefit.boundSince = time.Minute
	c.shares.correction = 2
	c.Step(time.Minute, Inputs{NewAccessPoint: true})
	if c.baseRTT.foreign() || c.benefit.boundSince != 0 || c.shares.correction != 1 {
		t.Errorf("it still has foreign queues %v, bounds since %s or a correction of %g",
			c.baseRTT.foreign(), c.benefit.boundSince, c.shares.correction)
	}
}

// TestAnObserverAsksForNoProbe: its peers would hold back in it, and it would not.
func TestAnObserverAsksForNoProbe(t *testing.T) {
	for policy, coordinates := range map[Policy]bool{Shares: true, Observe: false} {
		c := New(Config{Policy: policy, Session: 1, Weight: 1, StandaloneBps: 100e6})
		peers := []message.Peer{{Source: source(1), Report: message.Report{
			Session: 2, State: message.Controlling, PeriodMs: 200, MaxKbps: 50_000, MaxSource: message.PHY,
			UploadKbps: 20_000, Weight: 1000, MinRTTUs: 2000, SmoothedRTTUs: 9000,
		}}}
		if got := c.isCoordinator(peers); got != coordinates {
			t.Errorf("%s: it asks for release probes: %v, want %v", policy, got, coordinates)
		}
		kinds := map[message.ProbeKind]bool{}
		for i := range 700 {
			now := time.Hour + time.Duration(i)*100*time.Millisecond
			peers[0].HeardNs = int64(now)
			out := c.Step(now, Inputs{
				Ready: true, MayReportEarly: true, SilenceLimit: time.Second, Host: flow.HostSample{SendRate: 40e6},
				Flows: []flow.Sample{{
					ID: 1, MSS: 1448, SendRate: 40e6, Greedy: true, MinRTT: 2 * ms, MeanRTT: 9 * ms, LeastRTT: 3 * ms,
				}},
				Peers: peers,
			})
			kinds[out.Probe.Kind] = true
		}
		if asks := kinds[message.RTTProbe] || kinds[message.ReleaseProbe]; asks != coordinates {
			t.Errorf("%s: it asks for probes %v", policy, kinds)
		}
	}
}
