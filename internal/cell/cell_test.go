package cell

import (
	"strings"
	"testing"

	"airtide/internal/cell/medium"
	"airtide/internal/cell/path"
)

func TestMistakesAreNamed(t *testing.T) {
	change := func(f func(c *Config)) Config {
		c := twoStations()
		f(&c)
		return c
	}
	for _, m := range []struct {
		c    Config
		says string
	}{
		{Config{}, "no terminals"},
		{change(func(c *Config) { c.AP.Discipline = "red" }), `"red" is unknown`},
		{change(func(c *Config) { c.Terminals[1].Radio.PHY = nil }), `terminal "two": its radio has no PHY rate`},
		{change(func(c *Config) { c.Terminals[1].Up = []LineStep{{5, path.Line{}}} }), "the first step is at 5 ns"},
		{
			change(func(c *Config) { c.WireUp = append(c.WireUp, WireStep{0, path.Wire{}}) }),
			"does not follow the one at 0 ns",
		},
		{change(func(c *Config) {
			c.Terminals[0].Radio = nil
			c.Terminals[0].Refuse = true
		}), "it has no radio"},
		{
			change(func(c *Config) { c.Flows[1].Port = 5201 }),
			`flows "first" and "second" are both counted by port 5201`,
		},
		{change(func(c *Config) { c.Flows[3].To = "nobody" }), `flow "from one": there is no host "nobody"`},
		{change(func(c *Config) { c.Band = medium.Band2GHz }), "802.11ac does not exist at 2.4 GHz"},
		{change(func(c *Config) { c.WireUp[0].Wire.RateBps = -1 }), "towards the servers"},
	} {
		_, err := Start(t.Context(), m.c)
		if err == nil || !strings.Contains(err.Error(), m.says) {
			t.Errorf("got %v, want one that says %s", err, m.says)
		}
	}
}
