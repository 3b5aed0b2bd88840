package medium

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"airtide/internal/cell/queue"
)

// TestBeaconsTakeTheirTime: saturated stations lose the time of the beacons, in both ways of
// counting contenders.
func TestBeaconsTakeTheirTime(t *testing.T) {
	for _, stations := range []int{1, 4, 20} {
		t.Run(fmt.Sprint(stations), func(t *testing.T) {
			without, m := saturatedWithBeacons(t, stations, Beacons{})
			if m.AP().Beacons != 0 || m.AP().AirtimeNs != 0 {
				t.Fatalf("%d beacons without any", m.AP().Beacons)
			}
			with, m := saturatedWithBeacons(t, stations, Beacons{IntervalNs: 10e6, Bytes: 250, Kbps: 6000})
			// 250 bytes at 6 Mbit/s: a preamble of 20 us, 85 symbols of 4 us, and 6 us of signal
			// extension at 2.4 GHz (17.4.3, 18.5.3).
			const beaconNs = 20_000 + 85*4_000 + 6_000
			if b := m.AP(); b.Beacons < 998 || b.Beacons > 1000 || b.AirtimeNs != b.Beacons*beaconNs {
				t.Errorf("%d beacons in 10 s, %d ns of airtime; want one in 10 ms of %d ns each", b.Beacons,
					b.AirtimeNs, beaconNs)
			}
			// SIFS and a slot before each are lost, too.
			lost := 1 - with/without
			want := (beaconNs + 19_000.0) / 10e6
			if math.Abs(lost-want) > 0.007 {
				t.Errorf("beacons cost %.4f of the goodput, want %.4f", lost, want)
			}
		})
	}
}

// saturatedWithBeacons is the goodput of 802.11g stations that always have something to send, in
// bit/s over 10 s.
func saturatedWithBeacons(t *testing.T, stations int, beacons Beacons) (bps float64, m *Medium) {
	t.Helper()
	phy, err := Legacy(Std11g, 54)
	if err != nil {
		t.Fatal(err)
	}
	delivered := 0
	c := Config{Band: Band2GHz, Beacons: beacons, Rand: rand.New(rand.NewPCG(1, 2))}
	c.AP.Queue = queue.NewSharedFIFO(stations, queue.Limit{}, func(*queue.Packet, queue.Place, int64) {})
	c.Deliver = func(p *queue.Packet, atNs int64) {
		delivered += p.Length
		p.EnteredNs = atNs
		m.Push(p, atNs)
	}
	c.Drop = func(p *queue.Packet, _ queue.Place, atNs int64) { m.Push(p, atNs) }
	for range stations {
		c.Stations = append(c.Stations, Station{Rates: []RateFrom{{PHY: phy}}})
	}
	m, err = New(c)
	if err != nil {
		t.Fatal(err)
	}
	for s := range stations {
		for range 3 {
			m.Push(&queue.Packet{Station: s, Up: true, Length: 1500}, 0)
		}
	}
	m.Advance(10e9)
	return float64(delivered) * 8 / 10, m
}

// TestBeaconsOfAnIdleMediumComeInTime: packets that are pushed during a beacon wait for its end.
func TestBeaconsOfAnIdleMediumComeInTime(t *testing.T) {
	phy, err := Legacy(Std11g, 54)
	if err != nil {
		t.Fatal(err)
	}
	var at []int64
	m, err := New(Config{
		Band: Band2GHz, Beacons: Beacons{IntervalNs: 102_400_000}, Rand: rand.New(rand.NewPCG(1, 2)),
		AP:       AccessPoint{Queue: queue.NewSharedFIFO(1, queue.Limit{}, func(*queue.Packet, queue.Place, int64) {})},
		Stations: []Station{{Rates: []RateFrom{{PHY: phy}}}},
		Deliver:  func(_ *queue.Packet, atNs int64) { at = append(at, atNs) },
		Drop:     func(*queue.Packet, queue.Place, int64) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.Next() != 102_400_000 {
		t.Fatalf("the first at %d ns", m.Next())
	}
	m.Advance(102_500_000)
	// 250 bytes at 1 Mbit/s: 192 us of preamble and 2000 us.
	end := int64(102_400_000 + 2_192_000)
	if m.Next() != end {
		t.Fatalf("it ends at %d ns, want %d", m.Next(), end)
	}
	m.Push(&queue.Packet{Up: true, Length: 1500}, 103_000_000)
	m.Advance(200e6)
	const difsNs, slotNs, frameNs = 28_000, 9_000, 20_000 + 57*4_000 + 6_000
	if len(at) != 1 || at[0] < end+difsNs+frameNs || at[0] > end+difsNs+15*slotNs+frameNs {
		t.Errorf("the packet that waited came at %v, want up to 15 slots after %d", at, end+difsNs+frameNs)
	}
	if m.Next() != 204_800_000 || m.AP().Beacons != 1 {
		t.Errorf("after %d beacons the next is at %d ns", m.AP().Beacons, m.Next())
	}
}

func TestImpossibleBeaconsAreRefused(t *testing.T) {
	for _, c := range []struct {
		band Band
		b    Beacons
	}{
		{Band2GHz, Beacons{IntervalNs: 1000}},
		{Band2GHz, Beacons{IntervalNs: 1e8, Bytes: 3000}},
		{Band2GHz, Beacons{IntervalNs: 1e8, Kbps: 7000}},
		{Band5GHz, Beacons{IntervalNs: 1e8, Kbps: 1000}},
	} {
		if err := c.b.check(c.band); err == nil {
			t.Errorf("%+v is taken", c.b)
		}
	}
}
