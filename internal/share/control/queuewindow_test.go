package control

import (
	"math"
	"testing"
	"time"

	"airtide/internal/share/flow"
)

// TestAFlowOfUnknownRateKeepsItsQueue: whatever rate the medium gives it, and however long its path
// is, so many of its packets wait.
func TestAFlowOfUnknownRateKeepsItsQueue(t *testing.T) {
	const mss, queue = 1448, 128 * 1448
	for _, mbps := range []float64{0.5, 5, 50, 500} {
		for _, base := range []time.Duration{2 * time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond} {
			for _, first := range []float64{10 * mss, 100 * queue} {
				path := mbps * 1e6 / 8 * base.Seconds() // bytes
				window := first
				for range 1000 {
					rtt := max(base.Seconds(), window*8/(mbps*1e6))
					window = queueWindow(&flow.Direction{Rate: window * 8 / rtt, BaseRTT: base}, queue)
				}
				if waiting := window - path; math.Abs(waiting-queue) > mss {
					t.Errorf("at %g Mbit/s and %s %.0f packets wait, want %d", mbps, base, waiting/mss, queue/mss)
				}
			}
		}
	}
}

// TestAQueueIsThatOfEachFlow: it does not depend on the number of flows.
func TestAQueueIsThatOfEachFlow(t *testing.T) {
	const now = time.Minute
	active := flow.Direction{BaseRTT: 10 * time.Millisecond, Rate: 100 * 1448 * 8 / 0.01, ActiveUntil: 2 * now}
	for single, packets := range map[bool]uint32{false: 100 + queuePackets, true: 100 + queuePacketsSingle} {
		c := New(Config{Weight: 1})
		c.flows.Add(&flow.Flow{ID: 1, MSS: 1448, Send: active})
		c.flows.Add(&flow.Flow{ID: 2, MSS: 1448, Send: active, Receive: active})
		c.flows.Add(&flow.Flow{ID: 3, MSS: 1448})
		b := c.windows.ofQueue(now, single)
		if len(b.send) != 2 || len(b.receive) != 1 {
			t.Fatalf("%d and %d bounds, want those of active flows, 2 and 1", len(b.send), len(b.receive))
		}
		for _, s := range b.send {
			if s.Packets != packets {
				t.Errorf("single frames %v: %d packets, want %d", single, s.Packets, packets)
			}
		}
		if b.receive[0].bytes != packets*1448 {
			t.Errorf("single frames %v: %d bytes, want %d", single, b.receive[0].bytes, packets*1448)
		}
	}
}
