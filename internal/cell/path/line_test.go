package path

import (
	"math"
	"math/rand/v2"
	"testing"

	"airtide/internal/cell/queue"
)

// pass sends packets of one terminal over a line at regular intervals, without a wire.
func pass(t *testing.T, l Line, packets int, everyNs int64) (*Path, *far) {
	t.Helper()
	p, f := newPath(t, Config{Lines: []Line{l}})
	for i := range packets {
		p.Advance(int64(i) * everyNs)
		p.Push(&queue.Packet{Length: 100, Flow: uint32(i)}, int64(i)*everyNs)
	}
	drain(t, p)
	c := p.Counters(0)
	if c.Pushed+c.Duplicated != c.Delivered+c.Lost+c.QueueDropped || c.Delivered != int64(len(f.arrived)) ||
		c.Lost != int64(f.places[queue.PlacePath]) {
		t.Errorf("counters %+v with %d arrived and %d lost", c, len(f.arrived), f.places[queue.PlacePath])
	}
	return p, f
}

// reordered counts the arrivals that came after a later packet.
func reordered(f *far) int64 {
	n := int64(0)
	highest := uint32(0)
	for _, a := range f.arrived {
		if a.packet.Flow < highest {
			n++
		}
		highest = max(highest, a.packet.Flow)
	}
	return n
}

func TestDelayIsExactForEachTerminal(t *testing.T) {
	delays := []int64{0, 1, 10e6, 512e6}
	c := Config{Wire: Wire{RateBps: 1e9}}
	for _, d := range delays {
		c.Lines = append(c.Lines, Line{DelayNs: d})
	}
	p, f := newPath(t, c)
	for i := range 4000 {
		nowNs := int64(i) * 100e3
		p.Advance(nowNs)
		p.Push(&queue.Packet{Station: i % 4, Length: 1500}, nowNs)
	}
	drain(t, p)
	for _, a := range f.arrived {
		if want := a.packet.EnteredNs + 1526*8 + delays[a.packet.Station]; a.atNs != want {
			t.Fatalf("terminal %d: arrived at %d ns, want %d", a.packet.Station, a.atNs, want)
		}
	}
	if len(f.arrived) != 4000 {
		t.Errorf("%d arrived", len(f.arrived))
	}
	for i := 1; i < len(f.arrived); i++ {
		if f.arrived[i].atNs < f.arrived[i-1].atNs {
			t.Fatal("deliveries are not in order of time")
		}
	}
}

func TestJitterHasItsDistribution(t *testing.T) {
	const delayNs, jitterNs, n = 50e6, 10e6, 100000
	for _, c := range []struct {
		name         string
		distribution Distribution
		deviation    float64
		most         float64
	}{
		{"uniform", Uniform, jitterNs / math.Sqrt(3), jitterNs},
		{"normal", Normal, jitterNs, delayNs},
	} {
		_, f := pass(t,
			Line{DelayNs: delayNs, Jitter: Jitter{Ns: jitterNs, Distribution: c.distribution, MayReorder: true}}, n,
			1e6)
		var sum, squares, most float64
		for _, a := range f.arrived {
			d := float64(a.atNs-a.packet.EnteredNs) - delayNs
			sum += d
			squares += d * d
			most = max(most, math.Abs(d))
		}
		mean := sum / n
		deviation := math.Sqrt(squares / n)
		// Four standard errors of each.
		meanError := 4 * c.deviation / math.Sqrt(n)
		deviationError := 4 / math.Sqrt(2*n)
		if math.Abs(mean) > meanError || !near(deviation, c.deviation, deviationError) || most > c.most {
			t.Errorf("%s: mean %v, deviation %v (want %v), at most %v", c.name, mean, deviation, c.deviation, most)
		}
		if reordered(f) == 0 {
			t.Errorf("%s: jitter of 10 ms reorders nothing that is 1 ms apart", c.name)
		}
	}
}

func TestJitterKeepsTheOrderUnlessItMayNot(t *testing.T) {
	l := Line{DelayNs: 5e6, Jitter: Jitter{Ns: 20e6, Distribution: Normal}}
	p, f := pass(t, l, 10000, 1e6)
	if n := reordered(f); n != 0 || p.Counters(0).Reordered != 0 {
		t.Errorf("%d packets overtook", n)
	}
	for _, a := range f.arrived {
		if a.atNs < a.packet.EnteredNs {
			t.Fatal("a packet arrived before it was sent")
		}
	}
	l.Jitter.MayReorder = true
	p, f = pass(t, l, 10000, 1e6)
	if n := reordered(f); n == 0 || n != p.Counters(0).Reordered {
		t.Errorf("%d packets were overtaken, %d counted", n, p.Counters(0).Reordered)
	}
}

func TestRandomLossIsIndependent(t *testing.T) {
	const n = 200000
	for _, share := range []float64{0.002, 0.1, 0.5} {
		p, f := pass(t, Line{Loss: Loss{Random: share}}, n, 1000)
		lost := float64(p.Counters(0).Lost)
		if math.Abs(lost-n*share) > 4*math.Sqrt(n*share*(1-share)) {
			t.Errorf("share %v: lost %v of %d", share, lost, n)
		}
		// A loss follows a loss as often as anything else.
		bursts, _ := burstsOf(f, n)
		if want := 1 / (1 - share); math.Abs(lost/float64(bursts)-want) > 4*math.Sqrt(share/float64(bursts))/(1-share) {
			t.Errorf("share %v: bursts of %v, want %v", share, lost/float64(bursts), want)
		}
	}
}

// burstsOf counts the runs of lost packets, and the sum of their lengths' squares.
func burstsOf(f *far, n int) (bursts int, squares float64) {
	lost := make([]bool, n)
	for _, d := range f.dropped {
		lost[d.packet.Flow] = true
	}
	length := 0.0
	for i, l := range lost {
		if l {
			length++
		}
		if length > 0 && (!l || i == n-1) {
			bursts++
			squares += length * length
			length = 0
		}
	}
	return bursts, squares
}

func TestGilbertElliottLosesInBursts(t *testing.T) {
	const n = 400000
	for _, c := range []struct {
		name  string
		model GilbertElliott
		share float64
		burst float64 // mean length, zero where it is not simply 1/R
	}{
		{"simple Gilbert", GilbertElliott{P: 0.01, R: 0.25, LossBad: 1}, 0.01 / 0.26, 4},
		{"long bursts", GilbertElliott{P: 0.001, R: 0.05, LossBad: 1}, 0.001 / 0.051, 20},
		{"Gilbert", GilbertElliott{P: 0.02, R: 0.2, LossBad: 0.5}, 0.02 / 0.22 * 0.5, 0},
		{
			"Gilbert-Elliott",
			GilbertElliott{P: 0.02, R: 0.2, LossBad: 0.7, LossGood: 0.01},
			(0.02*0.7 + 0.2*0.01) / 0.22, 0,
		},
		{"independent", GilbertElliott{P: 0.05, R: 0.95, LossBad: 1}, 0.05, 1 / 0.95},
	} {
		p, f := pass(t, Line{Loss: Loss{Gilbert: c.model}}, n, 1000)
		got := float64(p.Counters(0).Lost) / n
		// The state is remembered for some 1/(P+R) packets, so there are fewer independent ones
		// (variance of a mean of a Markov chain).
		memory := (2 - c.model.P - c.model.R) / (c.model.P + c.model.R)
		if bound := 4 * math.Sqrt(c.share*(1-c.share)*max(1, memory)/n); math.Abs(got-c.share) > bound {
			t.Errorf("%s: lost %.5f, want %.5f within %.5f", c.name, got, c.share, bound)
		}
		bursts, squares := burstsOf(f, n)
		if c.burst == 0 {
			continue
		}
		mean := got * n / float64(bursts)
		// Geometric lengths with the mean m have the variance m(m-1).
		variance := c.burst * (c.burst - 1)
		if math.Abs(mean-c.burst) > 4*math.Sqrt(variance/float64(bursts)) {
			t.Errorf("%s: bursts of %.3f packets, want %.3f", c.name, mean, c.burst)
		}
		if v := squares/float64(bursts) - mean*mean; !near(v, variance, 0.1) {
			t.Errorf("%s: burst lengths vary by %.2f, want %.2f", c.name, v, variance)
		}
	}
}

func TestReorderingSkipsTheDelay(t *testing.T) {
	const n = 100000
	for _, c := range []struct {
		name    string
		reorder Reorder
		want    float64 // share that skips
	}{
		{"a quarter", Reorder{Share: 0.25}, 0.25},
		{"each fifth", Reorder{Share: 1, Gap: 5}, 0.2},
		// After four that may not, each is the next with probability 1/2: two tries on average.
		{"half from the fifth on", Reorder{Share: 0.5, Gap: 5}, 1.0 / 6},
	} {
		_, f := pass(t, Line{DelayNs: 10e6, Reorder: c.reorder}, n, 1e6)
		skipped := 0.0
		last := uint32(0)
		for _, a := range f.arrived {
			switch a.atNs - a.packet.EnteredNs {
			case 0:
				skipped++
			case 10e6:
				if a.packet.Flow < last {
					t.Fatalf("%s: a packet with the whole delay was overtaken by another one", c.name)
				}
				last = a.packet.Flow
			default:
				t.Fatalf("%s: delay %d ns", c.name, a.atNs-a.packet.EnteredNs)
			}
		}
		if !near(skipped/n, c.want, 0.03) {
			t.Errorf("%s: %.4f skipped their delay, want %.4f", c.name, skipped/n, c.want)
		}
	}
}

func TestDuplicatesArriveTwice(t *testing.T) {
	const n, share = 50000, 0.1
	p, f := pass(t, Line{DelayNs: 1e6, Duplicate: share}, n, 1e3)
	times := make([]int, n)
	for _, a := range f.arrived {
		times[a.packet.Flow]++
	}
	twice := int64(0)
	for i, c := range times {
		if c < 1 || c > 2 {
			t.Fatalf("packet %d arrived %d times", i, c)
		}
		twice += int64(c - 1)
	}
	if twice != p.Counters(0).Duplicated || math.Abs(float64(twice)-n*share) > 4*math.Sqrt(n*share*(1-share)) {
		t.Errorf("%d arrived twice, %d counted, want %v", twice, p.Counters(0).Duplicated, n*share)
	}
	if _, err := New(Config{Lines: []Line{{Duplicate: 0.1}}}, rand.NewPCG(1, 2), Callbacks{}); err == nil {
		t.Error("duplication was accepted without a callback to copy")
	}
}
