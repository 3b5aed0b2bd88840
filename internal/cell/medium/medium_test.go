package medium

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"airtide/internal/cell/queue"
)

var ac866 = must(AtRate(Std11ac, 80, 2, 866.7))

func TestAggregationLimits(t *testing.T) {
	// A packet is an MPDU of 1536 bytes, 1540 with its delimiter.
	n65 := must(AtRate(Std11n, 20, 1, 65))
	n72 := must(AtRate(Std11n, 20, 1, 72.2))
	ax := must(MCS(Std11ax, 160, 2, 11, 800))
	for _, c := range []struct {
		name   string
		phy    PHY
		limit  Aggregation
		frames float64
	}{
		{"none", ac866, Aggregation{}, 1},
		{"bytes", ac866, Aggregation{Bytes: 65535}, 42},
		{"bytes that two frames do not exceed", ac866, Aggregation{Bytes: 3080}, 2},
		{"bytes that two frames exceed", ac866, Aggregation{Bytes: 3079}, 1},
		{"fewer bytes than a frame", ac866, Aggregation{Bytes: 100}, 1},
		{"the BlockAck window", ac866, Aggregation{Bytes: 1 << 20}, 64},
		{"the window of 802.11ax", ax, Aggregation{Bytes: 1 << 20}, 256},
		{"frames", ac866, Aggregation{Bytes: 1 << 20, Frames: 10}, 10},
		{"no more than HT's longest A-MPDU", must(AtRate(Std11n, 40, 4, 600)), Aggregation{Bytes: 1 << 20}, 42},
		// 5.484 ms at 65 Mbit/s: 1361 symbols of 260 bits, 44230 bytes.
		{"the longest PPDU", n65, Aggregation{Bytes: 65535}, 28},
		{"the longest PPDU, short guard interval", n72, Aggregation{Bytes: 65535}, 31},
		// 1 ms at 65 Mbit/s: 241 symbols, 7829 bytes.
		{"airtime", n65, Aggregation{Bytes: 65535, AirtimeNs: 1e6}, 5},
		{"less airtime than a frame", n65, Aggregation{Bytes: 65535, AirtimeNs: 1e5}, 1},
	} {
		for _, down := range []bool{false, true} {
			config := Config{Stations: []Station{saturated(c.phy, c.limit)}}
			config.AP.Aggregation = c.limit
			w := newWorld(t, config, 1, 600)
			w.up = !down
			w.down = down
			w.start()
			w.measure(1e9, 2e9)
			counters := w.m.Station(0)
			if down {
				counters = w.m.AP()
			}
			if got := meanFrames(counters); got != c.frames {
				t.Errorf("%s, down %v: %.2f frames in a PPDU, want %g", c.name, down, got, c.frames)
			}
			if n := counters.Sizes[int(c.frames)]; n != counters.PPDUs {
				t.Errorf("%s, down %v: %d of %d PPDUs have %g frames", c.name, down, n, counters.PPDUs, c.frames)
			}
		}
	}
}

func TestTXOPLimitShortensAMPDUs(t *testing.T) {
	s := saturated(must(AtRate(Std11n, 20, 1, 65)), Aggregation{Bytes: 65535})
	s.Access.TXOPNs = 1504000
	w := newWorld(t, Config{Stations: []Station{s}}, 1, 1)
	w.up = true
	w.start()
	w.measure(1e9, 2e9)
	c := w.m.Station(0)
	for frames, n := range c.Sizes {
		// 1504 us less SIFS and BlockAck leave 1456 us: 355 symbols, 11532 bytes, 7 frames.
		if n > 0 && frames > 7 {
			t.Errorf("%d PPDUs of %d frames in a TXOP of 1.504 ms", n, frames)
		}
	}
	if meanFrames(c) < 6 {
		t.Errorf("%.1f frames in a PPDU", meanFrames(c))
	}
}

// lossy is a cell with frame errors in both directions.
func lossy(rate float64) Config {
	c := Config{BarAfterCollision: true}
	for range 3 {
		s := saturated(ac866, Aggregation{Bytes: 65535})
		s.FrameErrorRate = rate
		c.Stations = append(c.Stations, s)
	}
	c.AP.Aggregation = Aggregation{Bytes: 65535}
	return c
}

func TestFrameErrorsAreRepairedInOrder(t *testing.T) {
	for _, rate := range []float64{0.01, 0.1, 0.5} {
		w := newWorld(t, lossy(rate), 3, 100)
		type direction struct {
			up      bool
			station int
		}
		sent := map[direction]uint32{}
		last := map[direction]uint32{}
		delivered := int64(0)
		var at int64
		check := func(p *queue.Packet, _ int64) {
			d := direction{p.Up, p.Station}
			if p.Flow <= last[d] {
				t.Fatalf("error rate %g: packet %d after %d", rate, p.Flow, last[d])
			}
			last[d] = p.Flow
			delivered++
		}
		w.m.deliver = check
		lost := int64(0)
		w.m.drop = func(_ *queue.Packet, place queue.Place, _ int64) {
			if place != queue.PlaceRetryLimit {
				t.Fatalf("dropped at place %d", place)
			}
			lost++
		}
		w.m.room = nil
		pushed := int64(0)
		for at < 2e9 {
			for i := range 3 {
				for _, up := range []bool{true, false} {
					d := direction{up, i}
					if up && w.m.Free(i) == 0 || !up && w.ap.LenOf(i) > 30 {
						continue
					}
					sent[d]++
					w.m.Push(&queue.Packet{Length: packetLength, Station: i, Up: up, Flow: sent[d]}, at)
					pushed++
				}
			}
			at += 50e3
		}
		w.m.Advance(60e9)
		if pushed != delivered+lost {
			t.Errorf("error rate %g: %d packets pushed, %d delivered, %d dropped", rate, pushed, delivered, lost)
		}
		if w.m.Next() != math.MaxInt64 {
			t.Errorf("error rate %g: an event at %d in an empty cell", rate, w.m.Next())
		}
		for i := range w.m.inFlight {
			if w.m.inFlight[i] != 0 || w.m.counters[i].Backlog.Value() != 0 {
				t.Errorf("error rate %g: contender %d has %d in flight, backlog %d", rate, i, w.m.inFlight[i],
					w.m.counters[i].Backlog.Value())
			}
		}
		c := w.m.Station(0)
		if got := float64(c.FrameErrors) / float64(c.Frames); rate < 0.5 && math.Abs(got-rate) > 0.25*rate+0.002 {
			t.Errorf("error rate %g: %.4f of the frames had errors", rate, got)
		}
		if rate == 0.5 && lost == 0 {
			t.Error("no packet was given up at an error rate of a half")
		}
	}
}

func TestRetryLimit(t *testing.T) {
	for _, c := range []struct {
		limit int
		std   PHY
		a     Aggregation
	}{
		{1, must(Legacy(Std11a, 54)), Aggregation{}},
		{4, must(Legacy(Std11a, 54)), Aggregation{}},
		{3, ac866, Aggregation{Bytes: 65535}},
	} {
		s := saturated(c.std, c.a)
		s.FrameErrorRate = 0.6
		s.Access.RetryLimit = c.limit
		w := newWorld(t, Config{Stations: []Station{s}}, 1, 1)
		w.up = true
		w.start()
		w.measure(0, 10e9)
		counters := w.m.Station(0)
		dropped := float64(counters.Drops[queue.PlaceRetryLimit])
		got := dropped / (dropped + float64(counters.DeliveredPackets))
		if want := math.Pow(0.6, float64(c.limit)); math.Abs(got/want-1) > 0.1 {
			t.Errorf("limit %d: %.4f of the packets dropped, want %.4f", c.limit, got, want)
		}
		if c.a.Bytes > 0 && counters.BlockAckReqs == 0 {
			t.Error("no BlockAckReq moved the receiver's window past what was given up")
		}
	}
}

// A station with frame errors has as many turns as the others, and its repetitions are in them.
func TestFrameErrorsOfOneStationAreItsOwnLoss(t *testing.T) {
	c := lossy(0)
	c.Stations[0].FrameErrorRate = 0.2
	w := newWorld(t, c, 1, 600)
	w.down = true
	w.start()
	w.measure(1e9, 6e9)
	// The FIFO gives each station as many packets as the others. What has to be repeated costs
	// A-MPDUs with fewer new packets, but not twice as many A-MPDUs.
	ratio := float64(w.gotDown[0]) / float64(w.gotDown[1])
	if ratio < 0.95 || ratio > 1.05 {
		t.Errorf("packets delivered %v", w.gotDown)
	}
	clean := newWorld(t, lossy(0), 1, 600)
	clean.down = true
	clean.start()
	clean.measure(1e9, 6e9)
	if got := float64(w.gotDown[1]) / float64(clean.gotDown[1]); got < 0.85 {
		t.Errorf("one station's frame errors leave the others %.2f of what they had", got)
	}
}

func TestQueueLimitAndRoom(t *testing.T) {
	s := saturated(must(Legacy(Std11a, 54)), Aggregation{})
	s.QueuePackets = 10
	w := newWorld(t, Config{Stations: []Station{s}}, 1, 1)
	roomAt := []int64{}
	w.m.room = func(station int, at int64) {
		if w.m.Free(station) == 0 {
			t.Errorf("room is told of at %d, but there is none", at)
		}
		roomAt = append(roomAt, at)
	}
	for range 12 {
		w.m.Push(w.packet(0, true), 0)
	}
	if w.m.Free(0) != 0 || w.dropped[queue.PlaceStationQueue] != 2 {
		t.Errorf("12 packets into a queue of 10: room for %d, %v dropped", w.m.Free(0), w.dropped)
	}
	w.m.Advance(1e9)
	if len(roomAt) != 1 || roomAt[0] != 34000 {
		t.Errorf("room is told of at %v, want once, when the first frame leaves the queue", roomAt)
	}
	if w.got[0] != 10 || w.m.Station(0).Drops[queue.PlaceStationQueue] != 2 {
		t.Errorf("%d delivered, drops %v", w.got[0], w.m.Station(0).Drops)
	}
}

func TestRateFollowsItsSchedule(t *testing.T) {
	n72 := must(AtRate(Std11n, 20, 1, 72.2))
	n7 := must(MCS(Std11n, 20, 1, 0, 400))
	s := saturated(n72, Aggregation{Bytes: 65535})
	s.Rates = []RateFrom{{0, n72}, {2e9, n7}, {4e9, n72}}
	w := newWorld(t, Config{Stations: []Station{s}}, 1, 1)
	w.up = true
	w.start()
	var got []int64
	for at := int64(1e9); at <= 5e9; at += 1e9 {
		before := w.got[0]
		w.m.Advance(at)
		got = append(got, (w.got[0]-before)*payload*8/1e6)
	}
	for i, want := range []int64{66, 66, 6, 6, 66} {
		if d := got[i] - want; d < -1 || d > 1 {
			t.Errorf("second %d: %d Mbit/s, want %d", i, got[i], want)
		}
	}
}

func TestSojournAndBacklog(t *testing.T) {
	s := saturated(must(Legacy(Std11a, 54)), Aggregation{})
	s.QueuePackets = 50
	w := newWorld(t, Config{Stations: []Station{s}}, 1, 1)
	w.up = true
	w.start()
	w.measure(1e9, 6e9)
	c := w.m.Station(0)
	// Little's law, with a queue that is always full and a frame on the air.
	if mean := c.Backlog.Mean(6e9); mean < 50 || mean > 51 {
		t.Errorf("%.2f packets on average, the queue holds 50", mean)
	}
	want := c.Backlog.Mean(6e9) / (float64(c.DeliveredPackets) / 5e9)
	if got := c.Sojourn.Mean(); math.Abs(got/want-1) > 0.01 {
		t.Errorf("packets stayed %.0f ns, by Little's law %.0f", got, want)
	}
	if p := c.Sojourn.Quantile(0.5); math.Abs(float64(p)/want-1) > 0.05 {
		t.Errorf("median stay %d ns", p)
	}
}

// trace is a fingerprint of all that leaves a cell under mixed traffic, advanced in steps.
func trace(t *testing.T, seed uint64, stepNs int64) uint64 {
	w := newWorld(t, lossy(0.05), seed, 200)
	hash := fnv.New64a()
	note := func(p *queue.Packet, at int64) {
		hash.Write([]byte{byte(p.Flow), byte(p.Flow >> 8), byte(p.Flow >> 16), byte(p.Station)})
		for i := range 8 {
			hash.Write([]byte{byte(at >> (8 * i))})
		}
	}
	w.m.deliver = note
	w.m.drop = func(p *queue.Packet, _ queue.Place, at int64) { note(p, at) }
	w.m.room = nil
	source := rand.New(rand.NewPCG(99, 99))
	push := int64(0)
	advance := int64(0)
	for flow := uint32(0); push < 1e9; flow++ {
		push += int64(source.ExpFloat64() * 30000)
		for advance < push-stepNs {
			advance += stepNs
			w.m.Advance(advance)
		}
		w.m.Push(
			&queue.Packet{Length: 100 + source.IntN(1400), Station: source.IntN(3), Up: source.IntN(3) > 0, Flow: flow},
			push,
		)
	}
	w.m.Advance(3e9)
	return hash.Sum64()
}

func TestSameSeedGivesTheSameRun(t *testing.T) {
	first := trace(t, 1, 1e9)
	if trace(t, 1, 1e9) != first {
		t.Error("two runs with the same seed differ")
	}
	for _, step := range []int64{1000, 77777, 10e6} {
		if trace(t, 1, step) != first {
			t.Errorf("advancing by %d ns gives another run", step)
		}
	}
	if trace(t, 2, 1e9) == first {
		t.Error("another seed gives the same run")
	}
}

func TestNothingIsAllocatedForAPacket(t *testing.T) {
	c := lossy(0.05)
	w := newWorld(t, c, 1, 300)
	w.up = true
	w.down = true
	w.start()
	now := int64(2e9)
	w.m.Advance(now)
	if n := testing.AllocsPerRun(10, func() {
		now += 100e6
		w.m.Advance(now)
	}); n > 0 {
		t.Errorf("%.0f allocations in 100 ms of a saturated cell", n)
	}
}

func TestImpossibleCellIsRefused(t *testing.T) {
	a54 := must(Legacy(Std11a, 54))
	n72 := must(AtRate(Std11n, 20, 1, 72.2))
	for _, c := range []struct {
		want   string // in the message
		change func(c *Config)
	}{
		{"at least one station", func(c *Config) { c.Stations = nil }},
		{"source of randomness", func(c *Config) { c.Rand = nil }},
		{"no queue", func(c *Config) { c.AP.Queue = nil }},
		{"no PHY rate", func(c *Config) { c.Stations[0].Rates = nil }},
		{"is empty", func(c *Config) { c.Stations[0].Rates = []RateFrom{{}} }},
		{"use one standard", func(c *Config) { c.Stations[0].Rates = []RateFrom{{0, a54}, {1, n72}} }},
		{"in order of time", func(c *Config) { c.Stations[0].Rates = []RateFrom{{5, a54}, {5, a54}} }},
		{"802.11a does not exist at 2.4 GHz", func(c *Config) { c.Band = Band2GHz }},
		{
			"802.11g does not exist at 5 GHz",
			func(c *Config) { c.Stations[0].Rates = []RateFrom{{0, must(Legacy(Std11g, 54))}} },
		},
		{"frame error rate of 1", func(c *Config) { c.Stations[0].FrameErrorRate = 1 }},
		{"queue of -1", func(c *Config) { c.Stations[0].QueuePackets = -1 }},
		{"802.11a has no A-MPDUs", func(c *Config) { c.Stations[0].Aggregation.Bytes = 65535 }},
		{"negative limits", func(c *Config) { c.AP.Aggregation.Frames = -1 }},
		{"contention window of 16", func(c *Config) { c.Stations[0].Access.CWMin = 16 }},
		{"from 31 to 15", func(c *Config) { c.AP.Access = Access{CWMin: 31, CWMax: 15} }},
		{"AIFSN of 16", func(c *Config) { c.AP.Access.AIFSN = 16 }},
		{"retry limit of -1", func(c *Config) { c.AP.Access.RetryLimit = -1 }},
		{"access category 9", func(c *Config) { c.AP.Access.Category = 9 }},
		{"7000 kbit/s is no basic rate", func(c *Config) { c.BasicRatesKbps = []int{6000, 7000} }},
		{"slot of -1", func(c *Config) { c.SlotNs = -1 }},
	} {
		config := Config{
			Stations: []Station{saturated(a54, Aggregation{})}, Rand: rand.New(rand.NewPCG(1, 1)),
			Deliver: func(*queue.Packet, int64) {}, Drop: func(*queue.Packet, queue.Place, int64) {},
		}
		config.AP.Queue = &sharedFIFO{}
		c.change(&config)
		if _, err := New(config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one that says %q", err, c.want)
		}
	}
}
