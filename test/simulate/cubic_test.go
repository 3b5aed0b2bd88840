package simulate

import (
	"math"
	"testing"
	"time"

	"airtide/internal/cell/medium"
)

// After a loss at 1000 packets CUBIC is back there after the cube root of (1 - 0.7) x 1000 / 0.4
// seconds.
func TestCubicGrowsBackAfterALoss(t *testing.T) {
	const rtt = 100 * time.Millisecond
	c := newCubic()
	c.cwnd = 1000
	c.ssthresh = 1000
	sent := 1000
	c.lost(1, sent)
	c.lost(500, sent) // of the same round trip
	if c.cwnd != 700 {
		t.Fatalf("the window is %.1f after a loss, want 700", c.cwnd)
	}
	c.acknowledged(time.Second, 1, sent, sent, rtt, true)
	if c.cwnd != 700 {
		t.Errorf("the window is %.1f in fast recovery, want 700", c.cwnd)
	}
	begin := 2 * time.Second
	now := begin
	for ; c.cwnd < 999 && now < time.Minute; now += rtt / 100 {
		sent += int(c.cwnd) / 100
		c.acknowledged(now, int(c.cwnd)/100, sent, sent+int(c.cwnd), rtt, true)
	}
	// At 999 packets it has a cube root of 1 / 0.4 seconds left.
	want := math.Cbrt(300/0.4) - math.Cbrt(1/0.4)
	if took := (now - begin).Seconds(); math.Abs(took-want) > 0.5 {
		t.Errorf("it took %.2f s to grow back, want %.2f", took, want)
	}
	before := c.cwnd
	c.acknowledged(now, 10, sent+10, sent+1000, rtt, false)
	if c.cwnd != before {
		t.Errorf("a window that does not hold the sender grew from %.1f to %.1f", before, c.cwnd)
	}
	c.timeout(sent)
	if c.cwnd != 1 || math.Abs(c.ssthresh-0.7*before) > 0.001 {
		t.Errorf("after a timeout the window is %.1f and ssthresh %.1f, not 1 and %.1f", c.cwnd, c.ssthresh, 0.7*before)
	}
}

func TestHyStartEndsSlowStart(t *testing.T) {
	for _, more := range []time.Duration{0, 5 * time.Millisecond} {
		c := newCubic()
		rtt := 20 * time.Millisecond
		sent := 10
		for acked := 1; acked <= 1000; acked++ {
			sent = acked + int(c.cwnd)
			c.acknowledged(time.Duration(acked)*time.Millisecond, 1, acked, sent, rtt, true)
			if c.cwnd >= 40 {
				rtt = 20*time.Millisecond + more
			}
		}
		if grows := c.cwnd >= 1000; grows != (more == 0) {
			t.Errorf("with RTTs that grow by %s the window is %.0f", more, c.cwnd)
		}
	}
}

// The same cell with real TCP and the cell engine, in docs/results/sharing.md: share-demo without
// sharing carries 96 Mbit/s with an index of 0.64, and share-download about 129 with 0.65 and an
// RTT of 126 ms.
func TestDefaultIsThatOfTheLab(t *testing.T) {
	for _, download := range []bool{false, true} {
		s := Scenario{Seed: 1, Delay: time.Millisecond, WireBps: 1e9, Stations: stations(t, 866.7, 866.7, 65, 65)}
		for i := range s.Stations {
			s.Stations[i].Flows = []ScenarioFlow{{Download: download}}
		}
		r := run(t, s, false, 5*time.Second, 20*time.Second)
		if r.Total < 80e6 || r.Total > 135e6 || math.Abs(r.Jain-0.64) > 0.06 {
			t.Errorf("download %v: %.1f Mbit/s with an index of %.3f", download, r.Total/1e6, r.Jain)
		}
		if rtt := r.RTT95[0]; rtt < 80*time.Millisecond || rtt > 700*time.Millisecond {
			t.Errorf("download %v: the 95th percentile of the RTT is %s", download, rtt)
		}
	}
}

// A wire with a queue loses packets, and CUBIC keeps it busy.
func TestCubicFillsAWire(t *testing.T) {
	s := Scenario{
		Seed: 1, Delay: 20 * time.Millisecond, WireBps: 50e6, APQueue: 100,
		Stations: []ScenarioStation{{PHYs: []medium.RateFrom{{PHY: rate(t, 866.7)}}}},
	}
	for _, download := range []bool{false, true} {
		s.Stations[0].Flows = []ScenarioFlow{{Download: download}}
		c, err := s.NewCell(false)
		if err != nil {
			t.Fatal(err)
		}
		c.Until(20 * time.Second)
		r, err := c.Measure(20 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		flow := &c.config.Air.(*Emulated).flows[0]
		t.Logf("%.1f Mbit/s, RTT %s, %d packets lost of %d", r.Total/1e6, r.RTT95[0], flow.lost, flow.sent)
		if r.Total < 0.85*50e6*PayloadOfWire || flow.lost == 0 || flow.lost > flow.sent/50 {
			t.Errorf("download %v: %.1f Mbit/s, %d packets lost of %d", download, r.Total/1e6, flow.lost, flow.sent)
		}
	}
}
