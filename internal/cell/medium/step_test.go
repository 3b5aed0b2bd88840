package medium

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"airtide/internal/cell/queue"
)

// TestCountingTogetherIsCountingApart: contenders in step count their slots together. All events
// have the same times, to the nanosecond, as when each counts its own.
func TestCountingTogetherIsCountingApart(t *testing.T) {
	for s := range 48 {
		together, grouped := digest(t, s, false)
		apart, _ := digest(t, s, true)
		if together != apart {
			t.Errorf("scenario %d differs", s)
		}
		if s == 0 && !grouped {
			t.Error("nobody counts together")
		}
	}
}

// digest returns a hash of all events in a cell of some kind. grouped reports whether contenders
// may count together in it.
func digest(t *testing.T, s int, apart bool) (hash uint64, grouped bool) {
	t.Helper()
	g54 := must(Legacy(Std11g, 54))
	b11 := must(Legacy(Std11b, 11))
	n72 := must(AtRate(Std11n, 20, 1, 72.2))
	a54 := must(Legacy(Std11a, 54))
	cats := []Category{ByStandard, BestEffort, Background, Video, Voice, DCF}
	r := rand.New(rand.NewPCG(uint64(s), 9))
	n := []int{64, 16, 9, 33}[s%4]
	c := Config{Band: Band5GHz, EIFSAfterCollision: r.IntN(2) == 1, BarAfterCollision: r.IntN(3) == 1}
	for i := range n {
		st := Station{QueuePackets: 20}
		switch s / 4 % 4 {
		case 0:
			c.Band = Band2GHz
			st.Rates = []RateFrom{{PHY: g54}}
			if s%2 == 1 && i%2 == 0 {
				st.Rates = []RateFrom{{PHY: b11}}
			}
		case 1:
			st.Rates = []RateFrom{{PHY: n72}}
			st.Aggregation = Aggregation{Bytes: 65535}
		case 2:
			st.Rates = []RateFrom{{PHY: ac866}}
			st.Aggregation = Aggregation{Bytes: 1 << 20}
		case 3:
			st.Rates = []RateFrom{{PHY: a54}}
			if i%2 == 1 {
				st.Rates = []RateFrom{{PHY: n72}}
			}
		}
		if s >= 16 {
			st.Access.Category = cats[r.IntN(len(cats))]
		}
		if s%7 == 3 {
			st.FrameErrorRate = 0.1
		}
		c.Stations = append(c.Stations, st)
	}
	w := newWorld(t, c, uint64(s), 30)
	grouped = len(w.m.steps) > 0
	if apart {
		w.m.steps = nil
	}
	h := fnv.New64a()
	w.onUp = func(p *queue.Packet, at int64) {
		fmt.Fprintln(h, p.Station, at)
	}
	w.up = r.IntN(2) == 0
	w.down = r.IntN(3) == 0
	if w.up || w.down {
		w.start()
	}
	now := int64(0)
	for range 4000 {
		now += int64(r.ExpFloat64() * 40000)
		st := r.IntN(n)
		if r.IntN(3) == 0 {
			w.m.Push(w.packet(st, false), now)
		} else {
			w.m.Push(w.packet(st, true), now)
		}
		if r.IntN(10) == 0 {
			w.m.Advance(now)
			fmt.Fprintln(h, w.m.Next(), w.got[st], w.gotDown[st])
		}
	}
	w.m.Advance(now + 1e8)
	for i := range n {
		fmt.Fprintln(h, w.got[i], w.gotDown[i], w.m.Station(i))
	}
	fmt.Fprintln(h, w.dropped)
	return h.Sum64(), grouped
}
