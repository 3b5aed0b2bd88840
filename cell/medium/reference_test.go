package medium

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"airtide/cell/queue"
)

// reference is a row of testdata/ns3_udp.csv: saturating UDP in ns-3 3.44.
type reference struct {
	name             string
	phy              string
	mbps, slowMbps   float64
	n, slow, streams int
	direction        string
	ampdu            int
	wiredMbps        float64
	apLimit          int
	goodput          float64
	stations         []float64 // of one run
	backlog          float64
	framesSta        float64
	framesAP         float64
	collidedSta      float64
	airSta, airAP    float64
	runs             float64
	options          string
}

func readReference(t *testing.T) []reference {
	t.Helper()
	f, err := os.Open("testdata/ns3_udp.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	var rows []reference
	for _, line := range lines[1:] {
		text := func(name string) string { return line[column[name]] }
		number := func(name string) float64 {
			v, err := strconv.ParseFloat(text(name), 64)
			if err != nil {
				t.Fatalf("column %s: %v", name, err)
			}
			return v
		}
		r := reference{
			phy: text("phy"), mbps: number("rate_mbps"), slowMbps: number("slow_rate_mbps"), n: int(number("n")),
			slow: int(number("n_slow")), streams: int(number("nss")), direction: text("dir"), ampdu: int(number("ampdu_max")),
			wiredMbps: number("wired_mbps"), apLimit: int(number("ap_fifo_pkts")), goodput: number("goodput_mbps"),
			backlog: number("apq_mean"), framesSta: number("mpdu_per_ppdu_sta"), framesAP: number("mpdu_per_ppdu_ap"),
			collidedSta: number("coll_sta"), airSta: number("air_sta"), airAP: number("air_ap"), runs: number("runs"), options: text("options"),
		}
		for _, v := range strings.Split(text("per_sta_mbps"), ";") {
			mbps, err := strconv.ParseFloat(v, 64)
			if err != nil {
				t.Fatalf("column per_sta_mbps: %v", err)
			}
			r.stations = append(r.stations, mbps)
		}
		r.name = fmt.Sprintf("%s/%s-%g-n%d+%d-%s-wire%g", text("case"), r.phy, r.mbps, r.n, r.slow, r.direction, r.wiredMbps)
		rows = append(rows, r)
	}
	return rows
}

// config is the cell that a row describes (its columns are explained in testdata/README.md).
func (r *reference) config() Config {
	c := Config{LeaveOutVHTSIGB: true, BarAfterCollision: true}
	for _, option := range strings.Fields(r.options) {
		switch option {
		case "bar=0":
			c.BarAfterCollision = false
		case "preambleDet=0":
			c.EIFSAfterCollision = true
		}
	}
	a := Aggregation{Bytes: r.ampdu}
	var fast PHY
	switch r.phy {
	case "g":
		c.Band, a, fast = Band2GHz, Aggregation{}, must(AtRate(Std11g, 0, 0, r.mbps))
	case "n20":
		fast = must(AtRate(Std11n, 20, r.streams, r.mbps))
	case "n40":
		fast = must(AtRate(Std11n, 40, r.streams, r.mbps))
	case "ac80":
		fast = must(AtRate(Std11ac, 80, r.streams, r.mbps))
	}
	c.AP.Aggregation = a
	for range r.n {
		c.Stations = append(c.Stations, saturated(fast, a))
	}
	for range r.slow {
		width := 20
		if strings.Contains(r.options, "slowWidth=40") {
			width = 40
		}
		c.Stations = append(c.Stations, saturated(must(AtRate(Std11n, width, 1, r.slowMbps)), a))
	}
	return c
}

// outcome is what a row gives here, means over seeds.
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

// seeds is how many runs the means are taken over: more where chance decides more.
func (r *reference) seeds() float64 {
	switch {
	case r.direction == "down" || r.n+r.slow == 1:
		return 2
	case r.n > 0 && r.slow > 0:
		return 40
	}
	return 6
}

func (r *reference) run(t *testing.T) outcome {
	var o outcome
	var squares float64
	seeds := r.seeds()
	for seed := range uint64(seeds) {
		w := newWorld(t, r.config(), seed+1, r.apLimit)
		stations := len(w.got)
		o.stations = append(o.stations, make([]float64, stations-len(o.stations))...)
		w.up, w.down, w.relay = r.direction != "down", r.direction == "down", r.direction == "s2s"
		// The wire of 1 Gbit/s is faster than any of the cells.
		limited := r.wiredMbps < r.goodput*1.5
		var wire *wire
		if limited && w.up {
			wire = newWire(r.wiredMbps, stations)
			w.onUp = wire.take
		}
		if limited && w.down {
			w.down = false
			w.feed(r.wiredMbps)
		} else {
			w.start()
			w.measure(warmNs, untilNs)
		}
		var got []int64
		switch {
		case wire != nil:
			got = wire.got
		case w.relay || r.direction == "down":
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
		o.count(w, r.direction == "down", seeds)
	}
	o.deviation = math.Sqrt(max(0, squares-seeds*o.goodput*o.goodput) / (seeds - 1))
	if r.direction == "s2s" {
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
	o.collided += all.CollidedShare() / seeds
	o.airSta += float64(all.AirtimeNs) / span / seeds
	if down {
		all = *w.m.AP()
	}
	o.frames += all.MeanFrames() / seeds
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

func TestUDPSaturationAgreesWithNS3(t *testing.T) {
	for _, r := range readReference(t) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			o := r.run(t)
			deviation := o.goodput/r.goodput - 1
			// One run of a cell with fast and slow stations is uncertain itself by several per cent: each access of a slow
			// one costs eight of a fast one, and who wins is chance. Twice the deviation between runs is allowed then.
			allowed := max(0.05, 2*o.deviation/o.goodput/math.Sqrt(r.runs))
			frames, ours := r.framesSta, o.frames
			if r.direction == "down" {
				frames = r.framesAP
			}
			t.Logf("| %s %s | %.2f | %.2f | %+.1f %% (±%.1f) | frames %.1f %.1f | collided %.3f %.3f | air %.3f %.3f / %.3f %.3f | AP %.0f %.0f | %.2f |",
				r.name, r.options, r.goodput, o.goodput, 100*deviation, 100*o.deviation/o.goodput, frames, ours, r.collidedSta, o.collided, r.airSta, o.airSta,
				r.airAP, o.air, r.backlog, o.backlog, o.stations)
			if math.Abs(deviation) > allowed {
				t.Errorf("goodput %.2f Mbit/s, reference %.2f: more than %.1f %% apart", o.goodput, r.goodput, 100*allowed)
			}
			if r.direction == "s2s" {
				return
			}
			// The reference's stations of a kind differ by chance (one run of a few seconds), so kinds are compared.
			if r.n > 0 && r.slow > 0 {
				if got, want := share(o.stations, 0, r.n), share(r.stations, 0, r.n); math.Abs(got/want-1) > 0.1 {
					t.Errorf("share of the fast stations %.3f, reference %.3f", got, want)
				}
			}
			for i := range o.stations {
				from, to := 0, r.n
				if i >= r.n {
					from, to = r.n, r.n+r.slow
				}
				got, want := share(o.stations, i, i+1), share(r.stations, from, to)/float64(to-from)
				if math.Abs(got/want-1) > 0.1 {
					t.Errorf("share of station %d %.3f, the reference's mean of its kind %.3f", i, got, want)
				}
			}
		})
	}
}
