package medium

import (
	"fmt"
	"testing"

	"airtide/internal/cell/queue"
)

// scripted is a cell whose packets are pushed by hand and whose deliveries are written down.
func scripted(t *testing.T, c Config) *world {
	t.Helper()
	return newWorld(t, c, 1, 100)
}

func stations(n int, p PHY, a Aggregation) []Station {
	var s []Station
	for range n {
		s = append(s, saturated(p, a))
	}
	return s
}

// arrivals pushes one packet up for each station at the given times and returns when the packets
// got through.
func arrivals(t *testing.T, c Config, atNs ...int64) (*world, []int64) {
	t.Helper()
	w := scripted(t, c)
	got := make([]int64, len(c.Stations))
	w.onUp = func(p *queue.Packet, at int64) { got[p.Station] = at }
	for i, at := range atNs {
		w.m.Push(w.packet(i, true), at)
	}
	w.m.Advance(1e9)
	return w, got
}

func TestIdleMediumIsTakenAtOnce(t *testing.T) {
	a54 := must(Legacy(Std11a, 54))
	n72 := must(AtRate(Std11n, 20, 1, 72.2))
	const us = 1000
	for _, c := range []struct {
		name   string
		phy    PHY
		access Access
		pushed int64
		want   int64 // begin of the frame
	}{
		{"DCF, medium idle for long", a54, Access{}, 1000123, 1000123},
		{"DCF, medium idle for less than DIFS", a54, Access{}, 20 * us, 34 * us},
		{"EDCA at a slot boundary", n72, Access{}, 43*us + 90*us, 43*us + 90*us},
		{"EDCA between slot boundaries", n72, Access{}, 43*us + 90*us + 1, 43*us + 99*us},
		{"EDCA before the end of AIFS", n72, Access{}, 0, 43 * us},
		{"voice has a shorter AIFS", n72, Access{Category: Voice}, 0, 34 * us},
		{"background has a longer AIFS", n72, Access{Category: Background}, 0, 79 * us},
	} {
		s := saturated(c.phy, Aggregation{})
		s.Access = c.access
		w, got := arrivals(t, Config{Stations: []Station{s}}, c.pushed)
		r := &w.m.terminals[0].rates[0].radio
		if want := c.want + r.frameNs(r.mpduBytes(packetLength)); got[0] != want {
			t.Errorf("%s: delivered at %d ns, want %d", c.name, got[0], want)
		}
	}
}

func TestBusyMediumMeansBackOff(t *testing.T) {
	// The second packet comes while the first is on the air: it must wait for the ACK, DIFS and a
	// whole number of slots.
	c := Config{Stations: stations(2, must(Legacy(Std11a, 54)), Aggregation{})}
	waits := map[int64]bool{}
	for seed := range uint64(64) {
		w := newWorld(t, c, seed, 100)
		var second int64
		w.onUp = func(p *queue.Packet, at int64) {
			if p.Station == 1 {
				second = at
			}
		}
		w.m.Push(w.packet(0, true), 100000)
		w.m.Push(w.packet(1, true), 150000)
		w.m.Advance(1e9)
		r := &w.m.terminals[0].rates[0].radio
		frame := r.frameNs(r.mpduBytes(packetLength))
		slots := second - frame - (100000 + frame + 16000 + r.ackNs + 34000)
		if slots < 0 || slots%9000 != 0 || slots/9000 > 15 {
			t.Fatalf("seed %d: the second frame began %d ns after DIFS", seed, slots)
		}
		waits[slots/9000] = true
	}
	if len(waits) < 12 {
		t.Errorf("64 back-offs took only %d of 16 values", len(waits))
	}
}

func TestFramesCollideUntilTheCarrierIsHeard(t *testing.T) {
	c := Config{Stations: stations(2, must(Legacy(Std11a, 54)), Aggregation{})}
	for _, x := range []struct {
		apartNs    int64
		collisions int64
	}{{0, 1}, {3999, 1}, {4000, 0}, {9000, 0}} {
		w := scripted(t, c)
		for i := range 2 {
			w.m.Push(w.packet(i, true), 0)
		}
		// Slots of stations that have and have not been in a collision are not aligned.
		w.m.contenders[2].idleFrom(w.m.contenders[2].startNs+x.apartNs, true)
		w.m.Advance(1e9)
		for i := range 2 {
			if w.got[i] != 1 {
				t.Errorf("%d ns apart: station %d's packet did not arrive", x.apartNs, i)
			}
			if n := w.m.Station(i).Collisions; n != x.collisions {
				t.Errorf("%d ns apart: station %d collided %d times, want %d", x.apartNs, i, n, x.collisions)
			}
		}
	}
}

// After a collision the senders wait for the ACK's time-out, the others only for DIFS or for EIFS.
func TestWaitAfterCollision(t *testing.T) {
	const us = 1000
	for _, c := range []struct {
		eifs bool
		want int64 // ns from the end of the frames until slots count for a station that heard them
	}{{false, 34 * us}, {true, 34*us + 16*us + 44*us}} {
		w := scripted(t,
			Config{Stations: stations(3, must(Legacy(Std11a, 54)), Aggregation{}), EIFSAfterCollision: c.eifs})
		for i := range 2 {
			w.m.Push(w.packet(i, true), 1e6)
		}
		r := &w.m.terminals[0].rates[0].radio
		end := int64(1e6) + r.frameNs(r.mpduBytes(packetLength))
		w.m.Advance(end)
		if got := w.m.contenders[3].startNs - end; got != c.want {
			t.Errorf("EIFS %v: the third station counts slots %d ns after the collision, want %d", c.eifs, got, c.want)
		}
		// SIFS, a slot and the preamble of the ACK, then DIFS.
		if got, want := w.m.contenders[1].startNs-end, int64((16+9+20+34)*us); got != want {
			t.Errorf("EIFS %v: a sender counts slots %d ns after the collision, want %d", c.eifs, got, want)
		}
		if cw := w.m.contenders[1].cw; cw != 31 {
			t.Errorf("contention window %d after one collision, want 31", cw)
		}
	}
}

func TestContentionWindowDoublesAndIsReset(t *testing.T) {
	for _, c := range []struct {
		name    string
		access  Access
		std     Standard
		windows []int
	}{
		{"OFDM", Access{}, Std11a, []int{15, 31, 63, 127, 255, 511, 1023, 1023, 15, 31}},
		{"802.11b", Access{}, Std11b, []int{31, 63, 127, 255, 511, 1023, 1023, 1023, 31}},
		{"voice", Access{Category: Voice}, Std11n, []int{3, 7, 7}},
		{"by hand", Access{CWMin: 7, CWMax: 31, RetryLimit: 4}, Std11n, []int{7, 15, 31, 31, 31, 7}},
	} {
		con := newContender(c.access.withDefaults(c.std), &Config{SlotNs: 9000})
		for i, want := range c.windows {
			if con.cw != want {
				t.Errorf("%s: contention window %d after %d failures, want %d", c.name, con.cw, i, want)
			}
			con.failed()
		}
		con.succeeded()
		if con.cw != c.windows[0] {
			t.Errorf("%s: contention window %d after a success", c.name, con.cw)
		}
	}
}

// EDCA counts a slot at the end of AIFS and one at each boundary, DCF only slots that have passed
// (10.23.2.4, 10.3.4.3).
func TestBackOffFreezes(t *testing.T) {
	for _, c := range []struct {
		edca  bool
		heard int64
		slots int64
		want  int64
	}{
		{false, 33999, 5, 5},
		{false, 34000, 5, 5},
		{false, 34000 + 9000 + 4000, 5, 4},
		{false, 34000 + 90000, 5, 0},
		{true, 33999, 5, 5},
		{true, 34000, 5, 4},
		{true, 34000 + 9000 + 4000, 5, 3},
		{true, 34000 + 90000, 5, 0},
	} {
		con := contender{edca: c.edca, slotNs: 9000, startNs: 34000, slots: c.slots}
		con.freeze(c.heard)
		if con.slots != c.want {
			t.Errorf("EDCA %v, heard at %d ns: %d slots left, want %d", c.edca, c.heard, con.slots, c.want)
		}
	}
}

func TestPriorityOfAccessCategories(t *testing.T) {
	c := Config{}
	categories := []Category{Voice, Video, BestEffort, Background}
	for _, category := range categories {
		s := saturated(must(AtRate(Std11n, 20, 1, 72.2)), Aggregation{})
		s.Access = Access{Category: category, TXOPNs: -1}
		c.Stations = append(c.Stations, s)
	}
	w := scripted(t, c)
	w.up = true
	w.start()
	w.measure(1e9, 6e9)
	for i := 1; i < len(categories); i++ {
		if w.got[i] >= w.got[i-1]*3/4 {
			t.Errorf("packets by voice, video, best effort, background: %v", w.got)
		}
	}
}

func TestTXOPLimitGivesSeveralExchanges(t *testing.T) {
	n72 := must(AtRate(Std11n, 20, 1, 72.2))
	for _, c := range []struct {
		txopNs int64
		want   int64 // PPDUs of one packet in a TXOP
	}{
		// A frame of 212 us, SIFS and ACK take 256 us, and SIFS precedes the next.
		{-1, 1},
		{100000, 1}, // the first goes in any case
		{256000, 1},
		{256000 + 272000 + 8000, 2}, // whether it fits is reckoned with a BlockAck
		{1504000, 5},
	} {
		t.Run(fmt.Sprint(c.txopNs), func(t *testing.T) {
			s := saturated(n72, Aggregation{})
			s.Access.TXOPNs = c.txopNs
			w := scripted(t, Config{Stations: []Station{s}})
			w.up = true
			w.start()
			w.measure(1e9, 2e9)
			counters := w.m.Station(0)
			// A TXOP may be cut at either end of the second.
			if got := counters.PPDUs; got < (counters.TXOPs-1)*c.want || got > (counters.TXOPs+1)*c.want {
				t.Errorf("%d PPDUs in %d TXOPs, want %d in each", got, counters.TXOPs, c.want)
			}
		})
	}
}
