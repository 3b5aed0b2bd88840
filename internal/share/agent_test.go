package share

import (
	"math"
	"strings"
	"testing"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/link"
)

// usualMulticast is the usual multicast rate of access points above 2.4 GHz, in bit/s.
const usualMulticast = 6e6

func TestMisuse(t *testing.T) {
	good := Config{Key: cellkey.New(), Policy: control.Shares, Link: link.Config{Interface: "lo"}}
	for _, c := range []struct {
		says   string
		change func(*Config)
	}{
		{"no key", func(c *Config) { c.Key = cellkey.Key{} }},
		{"maximum", func(c *Config) { c.MaxBps = -1 }},
		{"weight", func(c *Config) { c.Weight = 11 }},
		{"capacity", func(c *Config) { c.Policy = control.EqualCapPolicy }},
		{"equal-range divides a capacity", func(c *Config) { c.Policy = control.EqualRangePolicy }},
		{"policy", func(c *Config) { c.Policy = "mine" }},
		{"interface wlan7", func(c *Config) { c.Interface = "wlan7" }},
		{"multicast rate", func(c *Config) { c.MulticastBps = 6 }},
		{"alpha of -1", func(c *Config) { c.Control.Alpha = new(-1.0) }},
		{"alpha of NaN", func(c *Config) { c.Control.Alpha = new(math.NaN()) }},
	} {
		one := good
		c.change(&one)
		if err := Run(t.Context(), one); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.says, err)
		}
	}
}
