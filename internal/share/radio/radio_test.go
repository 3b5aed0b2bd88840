package radio

import (
	"math"
	"net"
	"testing"

	"airtide/internal/kernel/nl80211"
)

// TestGoodputAgreesWithTCPAlone holds the formula against what real TCP carried alone over an
// emulated cell with 4 ms and 64 frames, and at 300 Mbit/s and more TCP in virtual time.
func TestGoodputAgreesWithTCPAlone(t *testing.T) {
	for _, c := range []struct {
		phy      PHY
		measured float64
	}{
		{PHY{Bps: 866.7e6, Generation: VHT, Streams: 2}, 599e6},
		{PHY{Bps: 433.3e6, Generation: VHT, Streams: 1}, 338e6},
		{PHY{Bps: 65e6, Generation: HT, Streams: 1}, 52e6},
		{PHY{Bps: 300e6, Generation: HT, Streams: 2}, 222e6},
		{PHY{Bps: 450e6, Generation: HT, Streams: 3}, 309e6},
		{PHY{Bps: 600e6, Generation: HT, Streams: 4}, 389e6},
	} {
		if got := Goodput(c.phy); math.Abs(got/c.measured-1) > 0.06 {
			t.Errorf("%+v: %.1f Mbit/s, measured were %.1f", c.phy, got/1e6, c.measured/1e6)
		}
	}
}

func TestGoodputGrowsWithTheRate(t *testing.T) {
	for _, g := range []Generation{Legacy, HT, VHT, HE, EHT} {
		before := 0.0
		for bps := 6e6; bps < 10e9; bps *= 1.1 {
			got := Goodput(PHY{Bps: bps, Generation: g, Streams: 2})
			if got < before*0.99 || got > bps { // a frame less fits at times
				t.Errorf("generation %d: %.1f Mbit/s at %.1f, below it %.1f", g, got/1e6, bps/1e6, before/1e6)
			}
			before = got
		}
	}
	for _, bps := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if got := Goodput(PHY{Bps: bps, Generation: VHT, Streams: 1}); got != 0 {
			t.Errorf("at %g: %g", bps, got)
		}
	}
}

func TestRatesOfTheKernel(t *testing.T) {
	told := nl80211.Station{
		Address: net.HardwareAddr{2, 0, 0, 0, 0, 1},
		TxRate:  nl80211.Rate{Bps: 866_700_000, Generation: VHT, Streams: 2},
	}
	place := Place{BSSID: BSSID{2, 0, 0, 0, 0, 1}}
	if got := of(&told); got != (PHY{Bps: 866.7e6, Generation: VHT, Streams: 2, Place: place}) {
		t.Errorf("got %+v", got)
	}
	// With several links at once the address is that of none of them.
	told.TxRate.Generation = EHT
	if got := of(&told); got.BSSID != (BSSID{}) {
		t.Errorf("of 802.11be: %+v", got)
	}
}

func TestASingleTriedRateDoesNotCount(t *testing.T) {
	usual := PHY{Bps: 433.3e6, Generation: VHT, Streams: 1}
	tried := PHY{Bps: 6e6, Generation: Legacy, Streams: 1}
	for _, last := range [][]PHY{{usual}, {usual, tried, usual}, {tried, usual, usual}} {
		if got := middle(last); got != (State{PHYBps: usual.Bps, StandaloneBps: Goodput(usual)}) {
			t.Errorf("%v: %+v", last, got)
		}
	}
	if got := middle(nil); got != (State{}) {
		t.Errorf("of none: %+v", got)
	}
	if !middle([]PHY{tried}).SingleFrames {
		t.Error("a rate of OFDM without MIMO is taken for one with aggregates")
	}
}

// scripted is a source that returns the given values.
type scripted []PHY

func (s *scripted) now() (PHY, error) {
	next := (*s)[0]
	*s = (*s)[1:]
	return next, nil
}

func (*scripted) Close() error { return nil }

// TestRatesOfTheLastAccessPointDoNotCount: the first one to another is the rate, and the place is
// where the terminal is now.
func TestRatesOfTheLastAccessPointDoNotCount(t *testing.T) {
	near := PHY{Bps: 866.7e6, Generation: VHT, Streams: 2, Place: Place{BSSID{2, 0, 0, 0, 0, 1}, 5180, 0.5}}
	far := PHY{Bps: 65e6, Generation: HT, Streams: 1, Place: Place{BSSID{2, 0, 0, 0, 0, 2}, 2437, 0}}
	r := &Radio{source: &scripted{near, near, near, far}}
	for range 3 {
		r.ask()
	}
	if got := r.State(); got.PHYBps != near.Bps || got.Place != near.Place {
		t.Errorf("at the first: %+v", got)
	}
	r.ask()
	if got := r.State(); got.PHYBps != far.Bps || got.Place != far.Place {
		t.Errorf("at the second: %+v", got)
	}
}
