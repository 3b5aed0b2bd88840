package plot

import (
	"io"
	"strings"
	"testing"
	"time"

	"airtide/internal/tcp"
)

func TestFormatOf(t *testing.T) {
	for _, c := range []struct{ path, format, err string }{
		{"x.png", "png", ""},
		{"/tmp/a.b/Figure.SVG", "svg", ""},
		{"x.pdf", "pdf", ""},
		{"x.jpg", "", "cannot write .jpg: end the name in .png, .svg or .pdf"},
		{"figure", "", "has no extension"},
	} {
		format, err := FormatOf(c.path)
		if format != c.format || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s is %q, %v; want %q, %q", c.path, format, err, c.format, c.err)
		}
	}
}

// Figures that cannot be drawn are refused with advice, before anything is written.
func TestDrawRefuses(t *testing.T) {
	one := collect(t, kinds, Options{}, upload)
	silent := NewSeries([]Kind{RTT}, nil, Options{OriginNs: origin})
	if err := silent.Flow(&tcp.Flow{ID: 3}); err != nil {
		t.Fatal(err)
	}
	many := make([]*FlowSeries, MaxGrid+1)
	for i := range many {
		many[i] = one[0]
	}
	for _, c := range []struct {
		name   string
		format string
		kind   Kind
		flows  []*FlowSeries
		o      Options
		want   string
	}{
		{"no flow", "png", RTT, nil, Options{}, "no flow was chosen"},
		{"too many flows in one panel", "png", RTT, many[:25], Options{}, "choose at most 24, or draw them as a grid"},
		{"too many flows", "png", RTT, many, Options{Grid: true}, "choose at most 60"},
		{"flow without samples", "png", RTT, silent.Flows(), Options{}, "flow 3 has no sample and no event"},
		{"time without samples", "png", RTT, one, Options{From: time.Hour}, "between 1h0m0s and the end"},
		{
			"end before start", "png", RTT, one,
			Options{From: 2 * time.Second, To: time.Second},
			"the end (1s) must come after the start (2s)",
		},
		{"unknown figure", "png", "pie", one, Options{}, "want one of cwnd, rtt, queues"},
		{"unknown format", "gif", RTT, one, Options{}, "want one of png, svg, pdf"},
		{"too small", "png", RTT, one, Options{WidthCm: 2}, "too small to be read"},
		{"too low", "png", Overview, one, Options{HeightCm: 8}, "too low for what it has to show: make it at least"},
		{"too large", "png", RTT, one, Options{WidthCm: 5000}, "want at most 200 cm"},
		{"too many pixels", "png", RTT, one, Options{WidthCm: 150, HeightCm: 150, DPI: 1200}, "lower the resolution"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &counting{}
			err := Draw(w, c.format, c.kind, c.flows, c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if w.n != 0 {
				t.Errorf("%d bytes were written", w.n)
			}
		})
	}
}

type counting struct{ n int }

func (c *counting) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestDrawReportsAFullDisk(t *testing.T) {
	flows := collect(t, []Kind{RTT}, Options{}, upload)
	for _, format := range Formats {
		if err := Draw(full{}, format, RTT, flows, Options{}); err == nil || !strings.Contains(err.Error(), "writing") {
			t.Errorf("%s: error %v, want one about writing", format, err)
		}
	}
}

// A process may have any name; the SVG stays well-formed, and long names are cut.
func TestHostileNames(t *testing.T) {
	for _, name := range []string{"a<b>&\"c'", "\x01\x02\xff\xfe", strings.Repeat("long name ", 30), "日本語"} {
		flows := collect(t, []Kind{RTT}, Options{}, upload)
		flows[0].Flow.Comm = name
		picture := drawSVG(t, RTT, flows, Options{})
		picture.CheckLayout(t)
		if !strings.Contains(picture.All(), "192.0.2.10") && len(name) < 20 {
			t.Errorf("the title is lost: %s", picture.All())
		}
	}
}
