package run

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/medium"
	"airtide/internal/lab/plan"
	"airtide/internal/share/radio"
)

// A terminal's file has the rate and the channel's busy time, if its agent knows them.
func TestTheFileOfARadio(t *testing.T) {
	slow, err := medium.MCS(medium.Std11n, 20, 1, 0, 800)
	if err != nil {
		t.Fatal(err)
	}
	fast, err := medium.MCS(medium.Std11ac, 80, 2, 9, 400)
	if err != nil {
		t.Fatal(err)
	}
	steps := []plan.PHYStep{{PHY: slow}, {At: plan.Duration(time.Second), PHY: fast}}
	const busy = 0.75
	for _, c := range []struct {
		name               string
		knowsPHY           bool
		knowsBusy          bool
		first, later, last radio.RateFile // at the start, after a look at the channel, at the second rate
	}{
		{"nothing", false, false, radio.RateFile{}, radio.RateFile{}, radio.RateFile{}},
		{
			"the rate", true, false,
			radio.RateFile{PHYRateBps: 6.5e6, Standard: "802.11n", Streams: 1},
			radio.RateFile{PHYRateBps: 6.5e6, Standard: "802.11n", Streams: 1},
			radio.RateFile{PHYRateBps: float64(fast.RateBps), Standard: "802.11ac", Streams: 2},
		},
		{
			"the channel", false, true,
			radio.RateFile{Standard: "802.11n", Streams: 1},
			radio.RateFile{Standard: "802.11n", Streams: 1, Busy: busy},
			radio.RateFile{Standard: "802.11ac", Streams: 2, Busy: busy},
		},
		{
			"both", true, true,
			radio.RateFile{PHYRateBps: 6.5e6, Standard: "802.11n", Streams: 1},
			radio.RateFile{PHYRateBps: 6.5e6, Standard: "802.11n", Streams: 1, Busy: busy},
			radio.RateFile{PHYRateBps: float64(fast.RateBps), Standard: "802.11ac", Streams: 2, Busy: busy},
		},
	} {
		setup := &plan.Setup{Duration: plan.Duration(3 * time.Second)}
		a := &agents{dir: t.TempDir(), setup: setup}
		var terminal plan.TerminalSetup
		terminal.Name = "phone"
		terminal.Share = plan.Sharing{KnowsPHY: c.knowsPHY, KnowsBusy: c.knowsBusy}
		terminal.Radio.PHY = steps
		path, err := a.tellRadio(terminal)
		if err != nil {
			t.Fatal(err)
		}
		if known := c.knowsPHY || c.knowsBusy; known != (path != "") {
			t.Errorf("%s: the file is %q", c.name, path)
		} else if !known {
			continue
		}
		check := func(when string, want radio.RateFile) {
			t.Helper()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var got radio.RateFile
			if err := json.Unmarshal(text, &got); err != nil || got != want {
				t.Errorf("%s, %s: %+v, %v, want %+v", c.name, when, got, err, want)
			}
		}
		check("at the start", c.first)
		a.planSurveys()
		surveys := 0
		if c.knowsBusy {
			surveys = 2 // at 1 and 2 s
		}
		if len(a.events) != 1+surveys {
			t.Errorf("%s: %d events", c.name, len(a.events))
		}
		for _, s := range []cell.Status{{TimeNs: 1e9, BusyNs: 1e9}, {TimeNs: 2e9, BusyNs: 1.75e9}} {
			if err := a.channel.tell(&s); err != nil {
				t.Fatal(err)
			}
		}
		check("after two looks at the channel", c.later)
		if err := a.events[0].do(t.Context()); err != nil {
			t.Fatal(err)
		}
		check("at the second rate", c.last)
	}
}
