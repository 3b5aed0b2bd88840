package plot

import (
	"slices"
	"strings"
	"testing"

	"airtide/internal/tcp"
	"airtide/internal/view/figure"
)

// figureOf describes a figure of one flow.
func figureOf(t *testing.T, kind Kind, flows []*FlowSeries, o Options) *figure.Figure {
	t.Helper()
	f, err := Figure(kind, flows, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A start-up spike leaves the panel of BBR's rates and is named in the legend, so that the rest of
// the transfer can be read.
func TestStartUpSpikeLeavesThePanel(t *testing.T) {
	flows := byHand(t, []Kind{BBR}, Options{}, func(i int, s *tcp.Sample) {
		s.Values[tcp.DeliveryRateBps] = 30e6
		s.Values[tcp.BBRBandwidthBps] = 32e6
		if i == 0 {
			s.Values[tcp.DeliveryRateBps] = 1_300e6
		}
	})
	picture := drawSVG(t, BBR, flows, Options{})
	if !picture.Has("delivery rate (up to 1300 Mbit/s)") || !picture.Has("40") || picture.Has("500") {
		t.Errorf("the axis follows the spike: %s", picture.All())
	}
}

// Without BBR, the pacing rate stays in the panel, and an empty panel has no axis of gains.
func TestBBRFigureOfAnotherControlShowsThePacingRate(t *testing.T) {
	flows := byHand(t, []Kind{BBR}, Options{}, func(i int, s *tcp.Sample) {
		s.Values[tcp.DeliveryRateBps] = 25e6
		s.Values[tcp.PacingRateBps] = 50e6
	})
	picture := drawSVG(t, BBR, flows, Options{})
	if !picture.Has("pacing rate") || !picture.Has("40") {
		t.Errorf("the pacing rate leaves the panel: %s", picture.All())
	}
	if strings.Contains(picture.All(), "pacing gain") {
		t.Errorf("an axis has no line: %s", picture.All())
	}
}

// A short life at a high value is not a spike.
func TestHighValuesOfOnePercentAreNotClipped(t *testing.T) {
	flows := byHand(t, []Kind{BBR}, Options{}, func(i int, s *tcp.Sample) {
		s.Values[tcp.DeliveryRateBps] = 30e6
		if i >= 10 && i < 14 {
			s.Values[tcp.DeliveryRateBps] = 300e6
		}
	})
	if picture := drawSVG(t, BBR, flows, Options{}); strings.Contains(picture.All(), "up to") {
		t.Errorf("0.4 of 20 s left the panel: %s", picture.All())
	}
}

// A flow that left BBR at its start has no panel of modes but a word about it; one that leaves it
// later is marked.
func TestChangeOfCongestionControlIsMarked(t *testing.T) {
	for _, c := range []struct {
		ns     int64
		states int // samples with BBR's state
		rules  int
	}{{1e7, 1, 1}, {10e9, 100, 1}} {
		flows := byHand(t, []Kind{BBR}, Options{}, func(i int, s *tcp.Sample) {
			s.Values[tcp.DeliveryRateBps] = 30e6
			if i < c.states {
				s.Values[tcp.BBRMode] = 2
				s.Values[tcp.BBRPacingGainPct] = 100
			}
		}, tcp.Event{TimeNs: origin + c.ns, Kind: tcp.EventCCChange, Text: "reno"})
		f := figureOf(t, BBR, flows, Options{})
		for _, p := range f.Cells[0].Panels {
			if len(p.Rules) != c.rules || p.Rules[0].Name != "reno" {
				t.Errorf("rules %v, want one at the change to reno", p.Rules)
			}
		}
		picture := drawSVG(t, BBR, flows, Options{})
		explained := strings.Contains(picture.All(), "no BBR state here: the flow's congestion")
		if explained != (c.states == 1) || !picture.Has("reno") {
			t.Errorf("with %d samples of state: %s", c.states, picture.All())
		}
	}
}

// A name from a recording reaches no figure with characters that a terminal obeys.
func TestNamesInFiguresHaveNoControlCharacters(t *testing.T) {
	name := "\x1b]0;owned\a\x1b[2J"
	flows := byHand(t, []Kind{BBR}, Options{Title: name}, func(int, *tcp.Sample) {},
		tcp.Event{TimeNs: origin, Kind: tcp.EventCCChange, Text: name})
	flows[0].Flow.CongestionControl = name
	flows[0].Flow.Comm = name
	picture := drawSVG(t, BBR, flows, Options{Title: name}).All()
	if strings.ContainsAny(picture, "\x1b\a") || !strings.Contains(picture, "?[2J") {
		t.Errorf("%q", picture)
	}
}

// Over a long stream, sent and acknowledged bytes fall on one line. A second panel shows how far
// they are apart.
func TestLongStreamHasAPanelOfOutstandingBytes(t *testing.T) {
	for _, c := range []struct {
		perSample int64
		panels    int
	}{{1000, 1}, {1_000_000, 2}} {
		flows := byHand(t, []Kind{Sequence}, Options{}, func(i int, s *tcp.Sample) {
			s.Values[tcp.AckedBytes] = int64(i) * c.perSample
			s.Values[tcp.SentBytes] = int64(i)*c.perSample + 50_000
			s.Values[tcp.SendWindowBytes] = 100_000
		})
		f := figureOf(t, Sequence, flows, Options{})
		if n := len(f.Cells[0].Panels); n != c.panels {
			t.Errorf("%d bytes a sample: %d panels, want %d", c.perSample, n, c.panels)
		}
	}
}

// Goodput above the delivery rate is explained, by a recovery if there was one.
func TestGoodputAboveTheDeliveryRateIsExplained(t *testing.T) {
	catchUp := func(i int, s *tcp.Sample) {
		s.Values[tcp.DeliveryRateBps] = 10e6
		s.Values[tcp.AckedBytes] = int64(i) * 125_000 // 10 Mbit/s
		if i >= 50 && i < 60 {
			s.Values[tcp.AckedBytes] = 50 * 125_000
		}
	}
	loss := tcp.Event{TimeNs: origin + 5e9, Code: tcp.CodeDupAck}
	for _, c := range []struct {
		events []tcp.Event
		note   string
	}{
		{nil, "goodput above the delivery rate: ACKs came in bursts"},
		{[]tcp.Event{loss}, "goodput above the delivery rate: an ACK after recovery covers all data behind the loss"},
	} {
		flows := byHand(t, []Kind{Rates}, Options{}, catchUp, c.events...)
		if f := figureOf(t, Rates, flows, Options{}); f.Note != c.note {
			t.Errorf("the note is %q, want %q", f.Note, c.note)
		}
	}
	steady := byHand(t, []Kind{Rates}, Options{}, func(i int, s *tcp.Sample) {
		s.Values[tcp.DeliveryRateBps] = 10e6
		s.Values[tcp.AckedBytes] = int64(i) * 125_000
	})
	if f := figureOf(t, Rates, steady, Options{Note: "own"}); f.Note != "own" {
		t.Errorf("steady goodput has the note %q", f.Note)
	}
}

// A flow whose only sample was taken just before the start of the recording is drawn.
func TestFlowBeforeTheStartIsDrawn(t *testing.T) {
	s := NewSeries([]Kind{RTT}, nil, Options{OriginNs: origin})
	b := tcp.NewBatch(1)
	row := tcp.Sample{TimeNs: origin - 1e6, Flow: 1}
	for f := range row.Values {
		row.Values[f] = tcp.Absent
	}
	row.Values[tcp.RttUs] = 2000
	b.Append(&row)
	if err := s.Samples(b); err != nil {
		t.Fatal(err)
	}
	f := figureOf(t, RTT, s.Flows(), Options{OriginNs: origin})
	if !slices.ContainsFunc(f.Cells[0].Panels[0].Series, func(s figure.Series) bool { return len(s.Data) > 0 }) {
		t.Error("the figure has no data")
	}
}
