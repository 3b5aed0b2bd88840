package radio

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"airtide/internal/testnet"
)

// TestARateIsToldByAFile, changes, is spoilt and mended.
func TestARateIsToldByAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "phy.json")
	tell := func(told Told) {
		t.Helper()
		if err := told.Write(path); err != nil {
			t.Fatal(err)
		}
	}
	tell(Told{866.7e6, "802.11ac", 2})
	var notices atomic.Int32
	r, err := BeginFile(path, func(string) { notices.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	until := func(want float64) {
		t.Helper()
		testnet.Eventually(t, 10*time.Second, fmt.Sprintf("%g bit/s", want), func() bool {
			got, _, _ := r.Rate()
			return got == want
		})
	}
	until(866.7e6)
	tell(Told{6e6, "802.11g", 0})
	until(6e6)
	if _, alone, single := r.Rate(); !single || alone != Goodput(PHY{6e6, Legacy, 1}) {
		t.Errorf("at 6 Mbit/s of 802.11g: %g bit/s, single frames %t", alone, single)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	until(0)
	tell(Told{65e6, "802.11n", 1})
	until(65e6)
	if n := notices.Load(); n != 1 {
		t.Errorf("what is wrong was told %d times", n)
	}
	tell(Told{Standard: "802.11n"})
	until(0)
	if n := notices.Load(); n != 1 {
		t.Errorf("a rate of 0 is told to be wrong")
	}
}

func TestAFileThatTellsNoRateIsRefused(t *testing.T) {
	if _, err := BeginFile(filepath.Join(t.TempDir(), "none"), nil); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a missing file: %v", err)
	}
	for text, want := range map[string]string{
		``:  "want JSON such as",
		`x`: "want JSON such as",
		`{"phy_rate_bps": 1e9, "standard": "802.11ac", "streams": 2, "mcs": 9}`: "mcs",
		`{"phy_rate_bps": 1e9, "standard": "802.11ac", "streams": 2} {}`:        "more than one",
		`{"phy_rate_bps": 866.7, "standard": "802.11ac", "streams": 2}`:         "phy_rate_bps is 866.7",
		`{"phy_rate_bps": -1, "standard": "802.11ac", "streams": 2}`:            "phy_rate_bps is -1",
		`{"phy_rate_bps": 1e9, "standard": "VHT", "streams": 2}`:                `"VHT": want one of 802.11a, 802.11ac`,
		`{"phy_rate_bps": 1e9, "standard": "802.11ac", "streams": 9}`:           "streams is 9",
	} {
		path := filepath.Join(t.TempDir(), "phy.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := BeginFile(path, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzToldRate(f *testing.F) {
	f.Add([]byte(`{"phy_rate_bps": 866700000, "standard": "802.11ac", "streams": 2}`))
	f.Add([]byte(`{"phy_rate_bps": 1e999}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := parse(text); err == nil && (Goodput(p) < 0 || Goodput(p) > p.Bps) {
			t.Errorf("%s: %+v carries %g", text, p, Goodput(p))
		}
	})
}
