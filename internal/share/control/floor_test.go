package control_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/share/flow"
	"airtide/internal/share/message"
	"airtide/internal/tcp"
	"airtide/test/scenario"
)

// liarCell is a cell of an honest terminal with a real core, honest peers, and liars. The honest
// terminal has one greedy flow over a path that carries at least its floor.
type liarCell struct {
	core   *control.Core
	config control.Config
	now    time.Duration
	peers  []message.Peer // the liars come first, in order of their sessions
	liars  int
	// reported are the newest reports that came, heard their times, and silent the times until
	// which each peer withholds its own.
	reported []message.Report
	heard    []time.Duration
	silent   []time.Duration
	carries  float64          // greatest rate of the terminal on the medium, in bit/s
	window   float64          // bytes
	benefit  *control.Benefit // the last comparison
	target   time.Duration    // the queue target of the last step that had one
}

const (
	liarBase = 20 * time.Millisecond
	liarStep = 100 * time.Millisecond
	liarMSS  = 1448
	// silentAfter is the time without a report after which a receiver leaves a peer out.
	silentAfter = time.Second
)

func newLiarCell(standalone, weight float64, honest, liars int) *liarCell {
	n := 1 + honest + liars
	c := &liarCell{
		config: control.Config{Policy: control.Shares, Weight: weight, StandaloneBps: standalone, Session: 100},
		now:    time.Hour, liars: liars, window: 10 * liarMSS,
	}
	c.core = control.New(c.config)
	c.heard = slices.Repeat([]time.Duration{c.now}, honest+liars)
	c.silent = make([]time.Duration, honest+liars)
	c.reported = make([]message.Report, honest+liars)
	// Fewer terminals have a greater floor, and liars who say nothing for a second do not count.
	c.carries = 2 * control.FloorRate(standalone, weight, max(1+honest, 2))
	for i := range honest + liars {
		session := uint64(1 + i) // liars are coordinators
		if i >= liars {
			session = uint64(101 + i)
		}
		c.peers = append(c.peers, message.Peer{Source: scenario.Address(2 + i), Report: message.Report{
			Session: session, State: message.Controlling, PeriodMs: 200, Weight: 1000, MaxKbps: 300_000,
			MaxSource: message.Configured, UploadKbps: message.RateOf(300e6 / float64(n)),
			MinRTTUs: 20_000, SmoothedRTTUs: 34_000,
		}})
	}
	return c
}

// lie changes a report as four bytes say. A value is one of the extremes, or anything between.
func lie(r *message.Report, field, exponent, mantissa, small byte) {
	rate := message.Rate(min(math.Exp2(float64(exponent)/9)*(1+float64(mantissa)/256), 100_000_000))
	rtt := uint32(min(math.Exp2(float64(exponent)/9.5)*(1+float64(mantissa)/256), 60_000_000))
	switch field % 16 {
	case 0:
		r.UploadKbps = rate
	case 1:
		r.DownloadKbps = rate
	case 2:
		r.MaxKbps = max(rate, 1)
	case 3:
		r.MinRTTUs = rtt
	case 4:
		r.SmoothedRTTUs = rtt
	case 5:
		r.Weight = 100 + uint16(small)*39
	case 6:
		r.ApplicationLimited = small%2 == 0
		r.DemandKbps = rate
	case 7:
		r.ForeignQueues = small%2 == 0
	case 8:
		r.SingleFrames = small%2 == 0
	case 9:
		r.State = message.State(small % 4)
	case 10, 11:
		in := time.Duration(small) * 6 * time.Millisecond
		kind := message.RTTProbe // as often as those that hold back nobody
		switch exponent % 4 {
		case 0:
			kind = message.NoProbe
		case 3:
			kind = message.ReleaseProbe
		}
		r.Probe = message.ProbeIn(kind, in, time.Duration(mantissa%16)*message.ProbeLengthStep)
	case 12:
		r.MaxSource = message.Source(small % 3)
	case 13:
		r.PeriodMs = uint32(50 + 20*int(small)*int(1+exponent))
	case 14:
		r.FlowsUp = uint16(exponent) << 8
	case 15:
		r.Session = 1 + uint64(small)%99 // a new session
	}
}

// step advances the cell, and returns the bound in bytes and the floor's window; held means that a
// probe holds the terminal back, or that nothing is bounded.
func (c *liarCell) step() (bound, floor float64, held bool) {
	c.now += liarStep
	rtt := max(liarBase+time.Millisecond, time.Duration(c.window*8/c.carries*float64(time.Second)))
	rate := c.window * 8 / rtt.Seconds()
	silence := time.Hour
	var peers []message.Peer
	for i := range c.peers {
		if c.now >= c.silent[i] {
			c.heard[i] = c.now
			c.reported[i] = c.peers[i].Report
		}
		silence = min(silence, c.now-c.heard[i])
		if c.now-c.heard[i] < silentAfter {
			peers = append(peers, message.Peer{
				Source: c.peers[i].Source, Report: c.reported[i], HeardNs: int64(c.heard[i]),
			})
		}
	}
	slices.SortFunc(peers, func(a, b message.Peer) int { return int(a.Report.Session) - int(b.Report.Session) })
	peers = slices.CompactFunc(peers, func(a, b message.Peer) bool { return a.Report.Session == b.Report.Session })
	out := c.core.Step(c.now, control.Inputs{
		Flows: []flow.Sample{{
			ID: tcp.FlowID(1), Local: scenario.Address(1), Remote: scenario.Address(1000), MSS: liarMSS,
			SendRate: rate, Greedy: true, MinRTT: liarBase, MeanRTT: rtt, LeastRTT: rtt,
		}},
		Host: flow.HostSample{SendRate: rate, MeanRTT: rtt}, Peers: peers, Silence: silence, SilenceLimit: time.Second,
		Ready: true,
	})
	c.benefit = out.View.Benefit
	if us := out.View.QueueTargetUs; us > 0 {
		c.target = time.Duration(us) * time.Microsecond
	}
	if len(out.Send) == 0 {
		c.window = 2 * c.carries * liarBase.Seconds() / 8
		return 0, 0, true
	}
	b := out.Send[0]
	bound = float64(b.Packets) * liarMSS
	c.window = bound
	held = out.View.Probe == message.RTTProbe
	rateFloor := control.FloorRate(c.config.StandaloneBps, c.config.Weight, 1+len(peers))
	return bound, rateFloor * (liarBase + control.DefaultMinQueue).Seconds() / 8, held
}

// checkFloor drives a cell by a script of lies: four bytes change a report of a liar. It returns
// how often the floor was nearly the bound.
func checkFloor(t *testing.T, c *liarCell, script []byte) (near int) {
	t.Helper()
	for at := 0; at+5 <= len(script); at += 5 {
		if c.liars > 0 {
			liar := &c.peers[int(script[at]>>4)%c.liars]
			lie(&liar.Report, script[at], script[at+1], script[at+2], script[at+3])
			if script[at+4] >= 128 { // it withholds its reports, also those of what it just claimed
				c.silent[int(script[at]>>4)%c.liars] = c.now + time.Duration(script[at+4]-127)*25*time.Millisecond
			}
		}
		for range 1 + int(script[at+4])%16 {
			bound, floor, held := c.step()
			if held {
				continue
			}
			if bound < floor-liarMSS && bound < floor*0.99 {
				t.Fatalf("after %s: a bound of %.0f bytes is below the floor of %.0f", c.now-time.Hour, bound, floor)
			}
			if bound < 1.1*floor+liarMSS {
				near++
			}
		}
	}
	return near
}

// FuzzFloor searches for reports of up to three liars, who are also the coordinator, that take an
// honest terminal's bound below its floor.
func FuzzFloor(f *testing.F) {
	f.Add(byte(30), byte(10), byte(0), byte(1), []byte("\x04\xf0\x00\x00\x03\x00\x80\x00\x00\x0f"))
	f.Add(byte(200), byte(1), byte(3), byte(3), []byte("\x05\x00\x00\xff\x08\x15\x00\x00\xff\x01\x0a\x02\x09\x00\x0f"))
	f.Fuzz(func(t *testing.T, standalone, weight, honest, liars byte, script []byte) {
		c := newLiarCell(
			4e6*float64(1+int(standalone)), 0.1*float64(1+int(weight)%100), int(honest)%6, 1+int(liars)%3,
		)
		checkFloor(t, c, script[:min(len(script), 400)])
	})
}

// TestLiarsTakeNobodyBelowTheFloor plays the attacks that are known, and random ones.
func TestLiarsTakeNobodyBelowTheFloor(t *testing.T) {
	attacks := map[string]func(now int, r *message.Report){
		"an RTT of a minute, 80 and then 50 Mbit/s": func(now int, r *message.Report) {
			r.SmoothedRTTUs = 60_000_000
			r.UploadKbps = 80_000
			if now > 100 {
				r.UploadKbps = 50_000
			}
		},
		"an RTT of a minute and 22 Mbit/s": func(_ int, r *message.Report) {
			r.SmoothedRTTUs = 60_000_000
			r.UploadKbps = 22_000
		},
		"the greatest weight": func(_ int, r *message.Report) { r.Weight = 10_000 },
		"a rate that falls": func(now int, r *message.Report) {
			r.Weight = 10_000
			r.SmoothedRTTUs = 60_000_000
			r.UploadKbps = message.RateOf(150e6 * math.Exp2(-float64(now)/50))
		},
		"queues of others": func(_ int, r *message.Report) { r.ForeignQueues = true },
	}
	for name, attack := range attacks {
		for _, liars := range []int{1, 2, 3, 10} {
			c := newLiarCell(323e6, 1, 1, liars)
			lowest := math.Inf(1)
			for now := range 600 {
				for i := range liars {
					attack(now, &c.peers[i].Report)
				}
				bound, floor, held := c.step()
				if held {
					continue
				}
				lowest = min(lowest, bound/floor)
			}
			if lowest < 0.98 {
				t.Errorf("%s by %d: a bound of %.2f of the floor", name, liars, lowest)
			}
			t.Logf("%s by %d: at least %.2f times the floor", name, liars, lowest)
		}
	}
	near := 0
	for seed := range uint64(600) {
		script := make([]byte, 5*80)
		fill(script, seed)
		c := newLiarCell(20e6*float64(1+seed%20), []float64{1, 0.1, 10}[seed%3], int(seed%5), 1+int(seed%3))
		near += checkFloor(t, c, script)
	}
	if near < 200 {
		t.Errorf("random lies came near the floor in %d steps only: they test nothing", near)
	}
}

// A member that claims foreign queues makes the queue target of others 16 times as long at most
// (docs/reference/share-messages.md). When the claim ends, the target is what it was.
func TestAClaimOfForeignQueuesIsBounded(t *testing.T) {
	c := newLiarCell(323e6, 1, 1, 1)
	run := func(claims bool) (most time.Duration) {
		c.peers[0].Report.ForeignQueues = claims
		for range 1200 {
			c.step()
			most = max(most, c.target)
		}
		return most
	}
	usual := run(false)
	if most := run(true); most < 15*usual || most > 16*(usual+time.Microsecond) { // outputs are whole µs
		t.Errorf("a claim stretched the queue target from %s to %s", usual, most)
	}
	run(false)
	if c.target > usual {
		t.Errorf("a queue target of %s long after a claim, %s before it", c.target, usual)
	}
}

// The documented floors beside a member with k addresses (docs/reference/share-messages.md).
func TestTheFloorBesideManyAddresses(t *testing.T) {
	for k, want := range map[int]float64{1: 26, 2: 13, 3: 8.5, 10: 2.0} {
		if got := control.FloorRate(300e6, 1, 1+k) / 1e6; math.Abs(got-want) > 0.15 {
			t.Errorf("beside %d addresses the floor is %.2f Mbit/s, documented are %.1f", k, got, want)
		}
	}
}

// fill fills a script with random bytes.
func fill(script []byte, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range script {
		script[i] = byte(r.IntN(256))
	}
}

// A coordinator that asks for no release probe, or for some without end, does not keep the cell
// from comparing itself with and without bounds.
func TestACoordinatorCannotWithholdTheComparison(t *testing.T) {
	const within = 11 * time.Minute
	for name, ask := range map[string]func(now time.Duration) message.Probe{
		"none": func(time.Duration) message.Probe { return message.Probe{} },
		"too short": func(now time.Duration) message.Probe {
			if now%(10*time.Second) < liarStep {
				return message.ProbeIn(message.ReleaseProbe, 0, message.ProbeLengthStep)
			}
			return message.Probe{}
		},
	} {
		c := newLiarCell(300e6, 1, 2, 1)
		longest := time.Duration(0)
		releases := 0
		compared := c.now
		var last *control.Benefit
		for range 3 * int(within/liarStep) {
			c.peers[0].Report.Probe = ask(c.now)
			if _, _, held := c.step(); held {
				releases++
			}
			if c.benefit != last {
				last = c.benefit
				compared = c.now
			}
			longest = max(longest, c.now-compared)
		}
		t.Logf("%s: at most %s without a comparison, unbounded in %d steps", name, longest, releases)
		if longest > within {
			t.Errorf("%s: %s without a comparison", name, longest)
		}
	}
}
