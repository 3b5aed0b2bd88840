package share

import (
	"math"
	"reflect"
	"testing"

	"github.com/spf13/pflag"

	"airtide/internal/units"
)

// TestArgsSetTheSameFlags also fails if a field of Flags has no flag.
func TestArgsSetTheSameFlags(t *testing.T) {
	all := Flags{
		Key: "cell key, second", Interface: "wlan0", Peers: []string{"10.0.0.2", "[fe80::1%wlan0]:9477"}, Port: 1234,
		Policy: "equal-cap", MaxRate: 25_000_001, Capacity: 1e9, Weight: 0.30000000000000004, Alpha: "inf",
		Index:         0.98,
		MulticastRate: 5_500_000, PHYFile: "phy.json", SingleFrames: true, Source: "diag", Record: "steps.gz",
		Disable: "idle-greedy,whole-ampdus",
		Metrics: "localhost:9478", OTLP: "http://[::1]:4318/a,b", JSON: true,
	}
	for i, v := 0, reflect.ValueOf(all); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("the example does not set %s", v.Type().Field(i).Name)
		}
	}
	for _, want := range []Flags{all, DefaultFlags()} {
		got := DefaultFlags()
		fl := pflag.NewFlagSet("run", pflag.ContinueOnError)
		got.Register(fl)
		if err := fl.Parse(want.Args()); err != nil {
			t.Fatalf("%q: %v", want.Args(), err)
		}
		if len(got.Peers) == 0 {
			got.Peers = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q gives\n%+v, want\n%+v", want.Args(), got, want)
		}
	}
	if f := DefaultFlags(); len(f.Args()) > 0 {
		t.Errorf("defaults are given as %q", f.Args())
	}
}

func TestFlagsReachTheConfiguration(t *testing.T) {
	for text, want := range map[string]float64{"0": 0, "1": 1, "2.5": 2.5, "inf": math.Inf(1)} {
		f := DefaultFlags()
		f.Alpha = text
		f.MulticastRate = units.Rate(5_500_000)
		f.Peers = []string{"10.0.0.2", "10.0.0.3:5"}
		c, err := f.Config()
		if err != nil || c.Control.Alpha == nil || *c.Control.Alpha != want || c.MulticastBps != 5.5e6 {
			t.Errorf("--alpha %s: %+v, multicast at %g bit/s, %v", text, c.Control, c.MulticastBps, err)
		}
		if p := c.Link.Peers; len(p) != 2 || p[0].Port() != f.Port || p[1].Port() != 5 {
			t.Errorf("peers %v", p)
		}
	}
}
