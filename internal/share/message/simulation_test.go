package message

import (
	"container/heap"
	"math/rand/v2"
	"testing"

	"airtide/internal/share/cellkey"
)

// arrival is a datagram on its way, or with no datagram an agent's timer.
type arrival struct {
	atNs     int64
	to, from int
	datagram []byte
}

type arrivals []arrival

func (a arrivals) Len() int           { return len(a) }
func (a arrivals) Less(i, j int) bool { return a[i].atNs < a[j].atNs }
func (a arrivals) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *arrivals) Push(x any)        { *a = append(*a, x.(arrival)) }
func (a *arrivals) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// air is a cell in virtual time. Each terminal receives the reports of all others, apart from loss;
// some arrive late or twice.
type air struct {
	t         testing.TB
	random    *rand.Rand
	key       cellkey.Key
	agents    []*agent
	reports   []int // sent, by agent
	queue     arrivals
	nowNs     int64
	loss      float64
	late      float64
	twice     float64
	airtimeNs int64           // airtime of all reports so far
	met       map[[2]int]bool // pairs of receiver and sender with an accepted report
}

func newAir(t testing.TB, seed uint64, loss float64) *air {
	return &air{
		t: t, random: seeded(seed), key: cellkey.New(), loss: loss, late: 0.05, twice: 0.05,
		met: map[[2]int]bool{},
	}
}

// join starts an agent at a time.
func (a *air) join(atNs int64) {
	i := len(a.agents)
	x := newAgentWith(a.key, rand.NewPCG(a.random.Uint64(), 1), i+1, atNs)
	a.agents = append(a.agents, x)
	a.reports = append(a.reports, 0)
	heap.Push(&a.queue, arrival{atNs: x.DueNs(atNs), to: i})
}

// until advances the time to an end, or until done returns true after a report.
func (a *air) until(endNs int64, done func() bool) {
	for len(a.queue) > 0 && a.queue[0].atNs <= endNs {
		e := heap.Pop(&a.queue).(arrival)
		a.nowNs = e.atNs
		x := a.agents[e.to]
		if e.datagram != nil {
			a.hear(e.to, e.from, e.datagram)
			continue
		}
		if due := x.DueNs(a.nowNs); due > a.nowNs {
			heap.Push(&a.queue, arrival{atNs: due, to: e.to})
			continue
		}
		d := x.send(a.t, a.nowNs)
		a.reports[e.to]++
		a.airtimeNs += Link{}.ReportNs(len(d))
		heap.Push(&a.queue, arrival{atNs: x.DueNs(a.nowNs), to: e.to})
		for to := range a.agents {
			if a.random.Float64() < a.loss {
				continue
			}
			delayed := a.random.Float64() < a.late
			if !delayed {
				a.hear(to, e.to, d)
			}
			if delayed || a.random.Float64() < a.twice {
				heap.Push(&a.queue, arrival{a.nowNs + a.random.Int64N(500*ms), to, e.to, d})
			}
		}
		if done != nil && done() {
			return
		}
	}
	a.nowNs = endNs
}

func (a *air) hear(to, from int, d []byte) {
	if _, reason := a.agents[to].Receive(a.agents[from].at, d, a.nowNs); reason == Accepted {
		a.met[[2]int{to, from}] = true
	}
}

// known returns the number of pairs that know each other, and of all pairs.
func (a *air) known() (known, all int) {
	for _, x := range a.agents {
		known += len(x.Peers(nil, a.nowNs))
	}
	return known, len(a.agents) * (len(a.agents) - 1)
}

// converge runs until each agent has accepted a report of each other. It returns the highest number
// of reports that an agent has sent.
func (a *air) converge(limitNs int64) int {
	before := append([]int(nil), a.reports...)
	all := len(a.agents) * (len(a.agents) - 1)
	a.until(a.nowNs+limitNs, func() bool { return len(a.met) == all })
	if len(a.met) != all {
		a.t.Fatalf("after %d s %d of %d pairs know each other", a.nowNs/second, len(a.met), all)
	}
	most := 0
	for i := range before {
		most = max(most, a.reports[i]-before[i])
	}
	return most
}

func TestAllTerminalsFindEachOtherDespiteLoss(t *testing.T) {
	for _, c := range []struct {
		terminals int
		loss      float64
		most      int // reports of one agent
	}{
		{2, 0, 5},
		{2, 0.3, 20},
		{16, 0, 6},
		{16, 0.3, 25},
		{200, 0.3, 60},
	} {
		seeds := uint64(10)
		switch many := c.terminals > 100; {
		case many && testing.Short():
			continue
		case many || testing.Short():
			seeds = 1
		}
		for seed := range seeds {
			a := newAir(t, seed, c.loss)
			for range c.terminals {
				a.join(0) // all at once, as after a power cut
			}
			most := a.converge(3600 * second)
			t.Logf("%d terminals, %.0f %% loss: all know all after %d reports, %.1f s, %.1f %% of the airtime",
				c.terminals, 100*c.loss, most, float64(a.nowNs)/1e9, 100*float64(a.airtimeNs)/float64(a.nowNs))
			if most > c.most {
				t.Errorf("%d terminals, %.0f %% loss: %d reports, want at most %d",
					c.terminals, 100*c.loss, most, c.most)
			}
		}
	}
}

func TestANewTerminalIsSoonKnownToAll(t *testing.T) {
	for _, loss := range []float64{0, 0.3} {
		a := newAir(t, 5, loss)
		for range 16 {
			a.join(0)
		}
		a.converge(600 * second)
		a.until(a.nowNs+60*second, nil)
		a.join(a.nowNs)
		start := a.nowNs
		reports := a.converge(60 * second)
		t.Logf("%.0f %% loss: the 17th is known to all after %d reports and %.1f s",
			100*loss, reports, float64(a.nowNs-start)/1e9)
		if most := map[float64]int{0: 8, 0.3: 15}[loss]; reports > most {
			t.Errorf("%.0f %% loss: %d reports, want at most %d", 100*loss, reports, most)
		}
	}
}

func TestReportsOfACellTakeOnePercent(t *testing.T) {
	for _, terminals := range []int{1, 2, 5, 16} {
		a := newAir(t, 9, 0.1)
		for range terminals {
			a.join(0)
		}
		a.until(300*second, nil)
		// At the start, the number of terminals is unknown.
		early := a.airtimeNs
		lowest := map[int]float64{1: 0.009, 2: 0.009}[terminals]
		a.until(1500*second, nil)
		share := float64(a.airtimeNs-early) / float64(1200*second)
		t.Logf("%d terminals: %.2f %% in the first 300 s, %.2f %% later",
			terminals, 100*float64(early)/float64(300*second), 100*share)
		// Jitter makes the rate of reports 0.3 % higher, and the window is a sample.
		if share > 0.0105 || share < lowest {
			t.Errorf("%d terminals: reports take %.2f %% of the airtime", terminals, 100*share)
		}
		if known, all := a.known(); float64(known) < 0.98*float64(all) {
			t.Errorf("%d terminals: %d of %d pairs know each other", terminals, known, all)
		}
	}
}

// After most terminals have left, the others report more often.
func TestPeriodsFollowTheSizeOfTheCell(t *testing.T) {
	a := newAir(t, 3, 0)
	for range 16 {
		a.join(0)
	}
	a.converge(600 * second)
	a.until(a.nowNs+60*second, nil)
	x := a.agents[0]
	large := x.Sender.periodNs(a.nowNs)
	if n := x.Terminals(a.nowNs); n != 16 {
		t.Errorf("%d terminals of 16", n)
	}
	for _, gone := range a.agents[2:] {
		gone.says.State = Leaving
		d := gone.send(t, a.nowNs)
		for _, y := range a.agents[:2] {
			y.Receive(gone.at, d, a.nowNs)
		}
	}
	if n := x.Terminals(a.nowNs); n != 2 {
		t.Errorf("%d terminals of 2", n)
	}
	if small := x.Sender.periodNs(a.nowNs); small*7 > large {
		t.Errorf("from %d to %d ms", large/ms, small/ms)
	}
}
