package message

import (
	"math/rand/v2"
	"testing"

	"airtide/internal/cell/medium"
	"airtide/internal/cell/queue"
)

// The expected values are computed by hand. A payload of 139 bytes makes a frame of 241 bytes.
func TestAirtimeOfAReport(t *testing.T) {
	const access = 16 + 27 + 67.5 // AIFS and mean back-off, us
	// 6 Mbit/s: (16 + 1928 + 6) / 24 = 81.25 symbols; an ACK has (16 + 112 + 6) / 24 = 5.6.
	const frame, ack = 20 + 82*4, 20 + 6*4
	// 400 Mbit/s: 1950 / 1600 = 1.2 symbols.
	const fast = 52 + 2*4
	// 1 Mbit/s of DSSS.
	const slowAccess, slowFrame, slowACK = 10 + 60 + 310, 192 + 1928, 192 + 112
	for _, c := range []struct {
		what string
		link Link
		us   float64
	}{
		{"multicast", Link{}, access + frame + 16 + ack + access + frame},
		{"multicast and one unicast copy", Link{Copies: 1}, 2*(access+frame) + 16 + ack + 2*(access+frame+16+ack)},
		{
			"two unicast copies at 400 Mbit/s",
			Link{DataKbps: 400_000, Copies: 2, NoMulticast: true},
			4 * (access + fast + 16 + ack),
		},
		{"multicast at 1 Mbit/s", Link{BasicKbps: 1000}, 2*(slowAccess+slowFrame) + 10 + slowACK},
		{"multicast alone at 1 Mbit/s", Link{MulticastKbps: 1000}, access + frame + 16 + ack + slowAccess + slowFrame},
		{"multicast over both families", Link{BothFamilies: true}, 2 * (access + frame + 16 + ack + access + frame)},
		{
			"unicast, with unused settings of multicast",
			Link{MulticastKbps: 1000, BothFamilies: true, Copies: 1, NoMulticast: true},
			2 * (access + frame + 16 + ack),
		},
	} {
		if got := float64(c.link.ReportNs(139)) / 1000; got != c.us {
			t.Errorf("%s: %g us, want %g", c.what, got, c.us)
		}
	}
}

// In the emulated medium, a lone station sends frames of the same size at 6 Mbit/s. They take the
// computed airtime of ordinary frames.
func TestAirtimeAgreesWithTheMedium(t *testing.T) {
	const payload, frames = 139, 20_000
	phy, err := medium.Legacy(medium.Std11a, 6)
	if err != nil {
		t.Fatal(err)
	}
	delivered := 0
	lost := func(*queue.Packet, queue.Place, int64) { t.Fatal("a packet was dropped") }
	m, err := medium.New(medium.Config{
		BasicRatesKbps: []int{6000},
		AP:             medium.AccessPoint{Queue: queue.NewSharedFIFO(1, queue.Limit{}, lost)},
		Stations: []medium.Station{{
			Rates: []medium.RateFrom{{PHY: phy}}, Access: medium.Access{Category: medium.BestEffort},
		}},
		Rand:    rand.New(rand.NewPCG(1, 2)),
		Deliver: func(*queue.Packet, int64) { delivered++ },
		Drop:    lost,
	})
	if err != nil {
		t.Fatal(err)
	}
	// The medium has no encryption, so the packet includes its 16 bytes and the headers of IPv6 and
	// UDP.
	for range frames {
		m.Push(&queue.Packet{Length: payload + 48 + 16, Up: true}, 0)
	}
	end := int64(0)
	for delivered < frames {
		end = m.Next()
		m.Advance(end)
	}
	link := Link{Copies: 1, NoMulticast: true}
	computed := float64(link.ReportNs(payload)) / 2
	if simulated := float64(end) / frames; simulated < 0.99*computed || simulated > 1.01*computed {
		t.Errorf("the medium takes %.1f us for a frame, want %.1f", simulated/1000, computed/1000)
	}
}

func TestReportsTakeAtMostOnePercent(t *testing.T) {
	for _, link := range []Link{
		{},
		{BasicKbps: 1000},
		{BasicKbps: 24_000, DataKbps: 866_000},
		{MulticastKbps: 1000, BothFamilies: true},
		{Copies: 3},
		{DataKbps: 100_000, Copies: 1, NoMulticast: true},
	} {
		for terminals := 1; terminals <= 2000; terminals++ {
			for _, bytes := range []int{128, 160, 640} {
				report := link.ReportNs(bytes)
				period := PeriodNs(terminals, report)
				if share := float64(terminals) * float64(report) / float64(period); share > 0.01+1e-9 {
					t.Fatalf("%+v: %d terminals take %.2f %%", link, terminals, 100*share)
				}
				if period < ShortestPeriodNs {
					t.Fatalf("a period of %d ms", period/ms)
				}
			}
		}
	}
	for terminals, most := range map[int]int64{1: 200, 2: 250, 4: 500, 8: 1000, 16: 2000} {
		if got := PeriodNs(terminals, Link{DataKbps: 65_000}.ReportNs(typicalSize)) / ms; got > most {
			t.Errorf("%d terminals report every %d ms, want at most %d", terminals, got, most)
		}
	}
}
