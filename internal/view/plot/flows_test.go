package plot

import (
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/tcp"
	"airtide/internal/view/figure"
)

// fourFlows are two transfers, a control connection of few bytes, and a flow without samples.
func fourFlows(t *testing.T, kind Kind) []*FlowSeries {
	t.Helper()
	s := NewSeries([]Kind{kind}, nil, Options{OriginNs: origin})
	playFour(t, s)
	return s.Flows()
}

func playFour(t *testing.T, s tcp.Sink) {
	t.Helper()
	second := upload
	second.id = 2
	second.mbit = 20
	second.own = "192.0.2.10:50426"
	second.remote = "198.51.100.7:5201"
	upload.play(t, s)
	second.play(t, s)
	control := tcp.NewBatch(2)
	for i := range int64(2) {
		row := tcp.Sample{TimeNs: origin + i*1e9, Flow: 3}
		for f := range row.Values {
			row.Values[f] = tcp.Absent
		}
		row.Values[tcp.CwndPackets] = 10
		row.Values[tcp.AckedBytes] = i * 500
		control.Append(&row)
	}
	if err := s.Samples(control); err != nil {
		t.Fatal(err)
	}
	for id := tcp.FlowID(3); id <= 4; id++ {
		if err := s.Flow(&tcp.Flow{ID: id, Comm: "iperf3", CongestionControl: "cubic"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGridLeavesOutFlowsOfFewBytes(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		ids  []tcp.FlowID
		note string
	}{
		"whole":       {Options{OriginNs: origin}, []tcp.FlowID{1, 2}, "left out: 2 flows of few bytes"},
		"before data": {Options{OriginNs: origin, To: time.Nanosecond}, []tcp.FlowID{1, 2, 3, 4}, ""},
	} {
		v := NewVolumes(c.o)
		playFour(t, v)
		if ids, note, err := v.Major(); err != nil || !slices.Equal(ids, c.ids) || note != c.note {
			t.Errorf("%s: flows %v, note %q, %v, want %v, %q", name, ids, note, err, c.ids, c.note)
		}
	}
	v := NewVolumes(Options{})
	for id := range tcp.FlowID(MaxGrid + 1) {
		if err := v.Flow(&tcp.Flow{ID: id + 1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := v.Major(); err == nil || !strings.Contains(err.Error(), "61 flows do not fit one grid") {
		t.Errorf("61 flows: %v", err)
	}
}

func TestGridOfChosenFlowsLeavesOutEmptyOnes(t *testing.T) {
	flows := fourFlows(t, Cwnd)
	f := figureOf(t, Cwnd, flows, Options{Grid: true})
	if len(f.Cells) != 3 || f.Note != "left out: 1 flow without data here" {
		t.Errorf("%d cells, note %q, want all but the empty flow", len(f.Cells), f.Note)
	}
	// If no flow has data for a figure, the cells say why.
	f = figureOf(t, BBR, flows[2:3], Options{Grid: true})
	if len(f.Cells) != 1 || f.Note != "" {
		t.Errorf("%d cells, note %q, want one with an explanation", len(f.Cells), f.Note)
	}
}

func TestSeveralFlowsShareAPanel(t *testing.T) {
	for _, kind := range Kinds() {
		flows := fourFlows(t, kind)[:2]
		f := figureOf(t, kind, flows, Options{})
		if len(f.Cells) != 1 || len(f.Cells[0].Panels) != len(definitions[kind].together) {
			t.Fatalf("%s: %d cells of %d panels", kind, len(f.Cells), len(f.Cells[0].Panels))
		}
		if kind == BBR { // both flows use CUBIC
			continue
		}
		for _, p := range f.Cells[0].Panels {
			if len(p.Series) != 2 || len(p.Series[0].Data) == 0 || len(p.Series[1].Data) == 0 {
				t.Errorf("%s: %s has %d series", kind, p.Left.Label, len(p.Series))
			}
		}
		picture := drawSVG(t, kind, flows, Options{WidthCm: 8.5})
		picture.CheckLayout(t)
		for _, text := range []string{
			"iperf3, 2 flows", "flow 1, cubic, port 50424", "flow 2, cubic, port 50426", "time (s)",
		} {
			if !picture.Has(text) {
				t.Errorf("%s lacks %q: %s", kind, text, picture.All())
			}
		}
	}
}

func TestDarkStyleHasDarkPaper(t *testing.T) {
	flows := collect(t, []Kind{Overview}, Options{}, upload)
	picture := drawSVG(t, Overview, flows, Options{Theme: figure.Dark})
	if !strings.Contains(picture.Paths[0].Style, "fill:#16181D") {
		t.Errorf("the paper is %s", picture.Paths[0].Style)
	}
	if n := picture.Count("#000000") + picture.Count("#FFFFFF"); n != 0 {
		t.Errorf("%d paths have colours of light paper", n)
	}
}
