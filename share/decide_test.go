package share

import (
	"math"
	"testing"
	"time"

	"airtide/share/control"
	"airtide/share/message"
	"airtide/share/own"
)

// TestWhoBeginsExpectsOthersToBeginToo: until they have said that they are still idle, or what they carry.
func TestWhoBeginsExpectsOthersToBeginToo(t *testing.T) {
	a := &agent{self: self{maximum: 25e6, weight: 1}}
	peer := func(heard time.Duration, kbps message.Rate) message.Peer {
		return message.Peer{HeardNs: int64(heard), Report: message.Report{
			PeriodMs: 200, MaxKbps: 25_000, UploadKbps: kbps, ApplicationLimited: true, DemandKbps: kbps, Weight: 1000,
		}}
	}
	idle, busy, unknown := peer(900*time.Millisecond, 0), peer(900*time.Millisecond, 5000), peer(900*time.Millisecond, 0)
	unknown.Report.MaxKbps = 0
	a.peers = []message.Peer{idle, busy, unknown}
	demands := func(now time.Duration, rate float64) []float64 {
		a.self.state = own.State{Up: rate}
		all := a.terminals(now)
		if len(all) != 3 {
			t.Fatalf("%d terminals, want this one and two of which it is known what they reach", len(all))
		}
		return []float64{all[1].Demand, all[2].Demand}
	}
	all, five := math.Inf(1), 5e6
	for _, step := range []struct {
		now, heard time.Duration // of the idle one
		rate       float64
		want       float64
	}{
		{1000 * time.Millisecond, 900 * time.Millisecond, 0, 0},     // nothing to carry: nothing to leave room for
		{1100 * time.Millisecond, 900 * time.Millisecond, 2e6, all}, // it begins
		{1200 * time.Millisecond, 1150 * time.Millisecond, 9e6, all},
		{1300 * time.Millisecond, 1250 * time.Millisecond, 9e6, 0}, // told again, late enough
		{9000 * time.Millisecond, 8900 * time.Millisecond, 9e6, 0},
		{9100 * time.Millisecond, 9050 * time.Millisecond, 0, 0},
		{9200 * time.Millisecond, 9050 * time.Millisecond, 9e6, all}, // and again
	} {
		a.peers[0].HeardNs = int64(step.heard)
		if got := demands(step.now, step.rate); got[0] != step.want || got[1] != five {
			t.Errorf("at %s: the idle one is taken to want %g, the other one %g, want %g and %g", step.now, got[0], got[1], step.want, five)
		}
	}
}

// TestNoWindowIsBelowTheLeast: a share may be less than a packet in a round trip.
func TestNoWindowIsBelowTheLeast(t *testing.T) {
	for bytes, want := range map[float64]uint32{100: control.LeastWindow, 2.9 * 1448: 2, 3.1 * 1448: 3, math.Inf(1): math.MaxInt32} {
		b := bounds{}
		b.send(window{bytes: bytes, flow: &flow{mss: 1448}})
		if got := b.up[0].Packets; got != want {
			t.Errorf("a window of %g bytes is bounded by %d packets, want %d", bytes, got, want)
		}
	}
}
