package medium

import "testing"

func TestHeldRatesCountFromBegin(t *testing.T) {
	fast := must(AtRate(Std11a, 0, 0, 54))
	slow := must(AtRate(Std11a, 0, 0, 6))
	s := saturated(fast, Aggregation{})
	s.Rates = append(s.Rates, RateFrom{FromNs: 1e9, PHY: slow})
	w := newWorld(t, Config{Held: true, Stations: []Station{s}}, 1, 500)
	w.up = true
	w.start()
	perSecond := func(fromNs int64) int64 {
		w.m.Advance(fromNs)
		before := w.m.Station(0).DeliveredPackets
		w.m.Advance(fromNs + 1e9)
		return w.m.Station(0).DeliveredPackets - before
	}
	high := perSecond(5e9)
	w.m.Begin(6e9)
	if got := perSecond(6e9); got < high*99/100 {
		t.Errorf("%d packets in the second before the change, %d before Begin", got, high)
	}
	if got := perSecond(7e9); got > high/4 {
		t.Errorf("%d packets in the second after the change, %d before", got, high)
	}
	if rate := w.m.RateBps(0, 8e9); rate != slow.RateBps {
		t.Errorf("the rate is %d bit/s", rate)
	}
}

func TestTransmissionsToEachStationMakeUpTheAccessPoints(t *testing.T) {
	phy := must(AtRate(Std11ac, 80, 1, 433.3))
	s := saturated(phy, Aggregation{Bytes: 65535})
	s.FrameErrorRate = 0.2
	w := newWorld(
		t,
		Config{
			AP: AccessPoint{Aggregation: Aggregation{Bytes: 65535}}, Stations: []Station{s, s, s},
			BarAfterCollision: true,
		},
		1, 500,
	)
	w.up = true
	w.down = true
	w.start()
	check := func(what string) {
		t.Helper()
		var sum Counters
		for i := range 3 {
			d := w.m.Down(i)
			sum.AirtimeNs += d.AirtimeNs
			sum.TXOPs += d.TXOPs
			sum.PPDUs += d.PPDUs
			sum.BlockAckReqs += d.BlockAckReqs
			sum.Collisions += d.Collisions
			sum.Unanswered += d.Unanswered
			sum.Frames += d.Frames
			sum.Retries += d.Retries
			sum.FrameErrors += d.FrameErrors
			sum.DeliveredPackets += d.DeliveredPackets
			sum.DeliveredBytes += d.DeliveredBytes
			for place, n := range d.Drops {
				sum.Drops[place] += n
			}
			for frames, n := range d.Sizes {
				sum.Sizes[frames] += n
			}
			sum.Sojourn.Merge(&d.Sojourn)
		}
		ap := *w.m.AP()
		ap.Backlog = sum.Backlog
		// The order of adding decides about a sum's last digits.
		if ap.Sojourn.Count() != sum.Sojourn.Count() || ap.Sojourn.Quantile(0.5) != sum.Sojourn.Quantile(0.5) {
			t.Errorf("%s: stays of %d packets, %d in sum", what, ap.Sojourn.Count(), sum.Sojourn.Count())
		}
		ap.Sojourn = sum.Sojourn
		if ap != sum || (what != "restarted" && (ap.Collisions == 0 || ap.FrameErrors == 0)) {
			t.Errorf("%s: the access point's and the sum differ", what)
		}
	}
	w.m.Advance(3e9)
	check("after 3 s")
	w.m.Restart(3e9)
	check("restarted")
	w.m.Advance(5e9)
	check("after 2 s more")
}
