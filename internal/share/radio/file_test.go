package radio

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"airtide/test/testnet"
)

// The rate file appears, changes, becomes invalid and valid again.
func TestARateIsReadFromAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "phy.json")
	tell := func(told RateFile) {
		t.Helper()
		if err := told.Write(path); err != nil {
			t.Fatal(err)
		}
	}
	tell(RateFile{
		PHYRateBps: 866.7e6, Standard: "802.11ac", Streams: 2, BSSID: "02:00:00:00:00:01", FrequencyMHz: 5180,
		Busy: 0.75,
	})
	var notices atomic.Int32
	r, err := OpenFile(path, func(string) { notices.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	until := func(want float64) {
		t.Helper()
		testnet.Eventually(t, 10*time.Second, fmt.Sprintf("%g bit/s", want), func() bool {
			return r.State().PHYBps == want
		})
	}
	until(866.7e6)
	if got := r.State().Place; got != (Place{BSSID{2, 0, 0, 0, 0, 1}, 5180, 0.75}) {
		t.Errorf("it is at %+v", got)
	}
	tell(RateFile{PHYRateBps: 6e6, Standard: "802.11g"})
	until(6e6)
	alone := Goodput(PHY{Bps: 6e6, Generation: Legacy, Streams: 1})
	if got := r.State(); !got.SingleFrames || got.StandaloneBps != alone || got.Place != (Place{}) {
		t.Errorf("at 6 Mbit/s of 802.11g: %+v", got)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	until(0)
	tell(RateFile{PHYRateBps: 65e6, Standard: "802.11n", Streams: 1})
	until(65e6)
	if n := notices.Load(); n != 1 {
		t.Errorf("what is wrong was told %d times", n)
	}
	tell(RateFile{Standard: "802.11n"})
	until(0)
	tell(RateFile{Standard: "802.11n", Busy: 0.5})
	testnet.Eventually(t, 10*time.Second, "busy time without a rate", func() bool {
		return r.State() == State{Place: Place{Busy: 0.5}}
	})
	if n := notices.Load(); n != 1 {
		t.Errorf("a rate of 0 is told to be wrong")
	}
}

func TestAnInvalidRateFileIsRefused(t *testing.T) {
	if _, err := OpenFile(
		filepath.Join(t.TempDir(), "none"), nil,
	); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a missing file: %v", err)
	}
	for text, want := range map[string]string{
		``:  "want JSON such as",
		`x`: "want JSON such as",
		`{"phy_rate_bps": 1e9, "standard": "802.11ac", "streams": 2, "mcs": 9}`: "mcs",
		`{"phy_rate_bps": 1e9, "standard": "802.11ac", "streams": 2} {}`:        "more than one",
		`{"phy_rate_bps": 866.7, "standard": "802.11ac", "streams": 2}`:         "phy_rate_bps is 866.7",
		`{"phy_rate_bps": -1, "standard": "802.11ac", "streams": 2}`:            "phy_rate_bps is -1",
		`{"phy_rate_bps": 1e9, "standard": "VHT", "streams": 2}`: "" +
			`"VHT": want one of 802.11a, 802.11ac`,
		`{"phy_rate_bps": 1e9, "standard": "802.11ac", "streams": 9}`: "streams is 9",
		`{"phy_rate_bps": 1e9, "standard": "802.11ac", "bssid": "access point"}`: "" +
			`bssid is "access point": want an address`,
		`{"phy_rate_bps": 1e9, "standard": "802.11ac", "bssid": "00:00:5e:00:53:00:00:01"}`: "bssid is",
		`{"phy_rate_bps": 1e9, "standard": "802.11ac", "frequency_mhz": -1}`:                "frequency_mhz is -1",
		`{"phy_rate_bps": 1e9, "standard": "802.11ac", "busy": 1.5}`:                        "busy is 1.5",
	} {
		path := filepath.Join(t.TempDir(), "phy.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := OpenFile(path, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzRateFile(f *testing.F) {
	f.Add([]byte(`{"phy_rate_bps": 866700000, "standard": "802.11ac", "streams": 2}`))
	f.Add([]byte(`{"phy_rate_bps": 1e999}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := parse(text); err == nil && (Goodput(p) < 0 || Goodput(p) > p.Bps) {
			t.Errorf("%s: %+v carries %g", text, p, Goodput(p))
		}
	})
}
