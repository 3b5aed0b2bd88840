package radio

import (
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/mdlayher/wifi"

	"airtide/internal/testnet"
)

// TestGoodputAgreesWithTCPAlone holds the formula against what real TCP carried alone over an emulated cell with 4 ms and 64 frames.
func TestGoodputAgreesWithTCPAlone(t *testing.T) {
	for _, c := range []struct {
		phy      PHY
		measured float64
	}{
		{PHY{866.7e6, VHT, 2}, 599e6}, {PHY{433.3e6, VHT, 1}, 338e6}, {PHY{65e6, HT, 1}, 52e6},
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
			got := Goodput(PHY{bps, g, 2})
			if got < before*0.99 || got > bps { // a frame less fits at times
				t.Errorf("generation %d: %.1f Mbit/s at %.1f, below it %.1f", g, got/1e6, bps/1e6, before/1e6)
			}
			before = got
		}
	}
	for _, bps := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if got := Goodput(PHY{bps, VHT, 1}); got != 0 {
			t.Errorf("at %g: %g", bps, got)
		}
	}
}

func TestWhatTheKernelSaysOfARate(t *testing.T) {
	got := of(&wifi.StationInfo{TransmitBitrate: 866_700_000, TransmitRateInfo: wifi.RateInfo{
		ModulationType: wifi.RateModulationInfoTypeVHT, Modulation: wifi.VHTModulationInfo{BaseModulationInfo: wifi.BaseModulationInfo{MCS: 9, NSS: 2}},
	}})
	if got != (PHY{866.7e6, VHT, 2}) {
		t.Errorf("got %+v", got)
	}
}

func TestARateThatIsTriedOnceDoesNotCount(t *testing.T) {
	usual, tried := PHY{433.3e6, VHT, 1}, PHY{6e6, Legacy, 1}
	for _, last := range [][]PHY{{usual}, {usual, tried, usual}, {tried, usual, usual}} {
		if phy, alone, single := middle(last); phy != usual.Bps || alone != Goodput(usual) || single {
			t.Errorf("%v: %g, %g, single frames %t", last, phy, alone, single)
		}
	}
	if phy, alone, single := middle(nil); phy != 0 || alone != 0 || single {
		t.Errorf("of none: %g, %g, single frames %t", phy, alone, single)
	}
	if _, _, single := middle([]PHY{tried}); !single {
		t.Error("a rate of OFDM without MIMO is taken for one with aggregates")
	}
}

func TestWithoutWiFi(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	err := n.Client.Do(func() error {
		name, err := Find([]netip.Addr{n.Server.V4})
		if err != nil || name != "eth0" {
			t.Errorf("the server is reached by %q, %v", name, err)
		}
		if _, err := Find(nil); err == nil || !strings.Contains(err.Error(), "finding the interface") {
			t.Errorf("without a default route: %v", err)
		}
		r, err := Begin(name, nil)
		if err == nil {
			err = r.Close()
			t.Errorf("a veth is a station, %v", err)
		}
		return err
	})
	if !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}
