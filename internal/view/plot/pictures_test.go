package plot

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"airtide/internal/view/figure"
)

var pictures = flag.String("pictures", "",
	"also write every sample figure in every format into this folder, to be looked at")

// sample is a figure of made-up connections.
type sample struct {
	name  string
	kind  Kind
	o     Options
	flows []synthetic
}

func samples() []sample {
	terminals := []synthetic{
		{
			id: 1, start: 0.1, end: 10, mbit: 40, rttMs: 20, buffer: 80, own: "192.0.2.11:40001",
			remote: "198.51.100.7:5201",
		},
		{
			id: 2, start: 0.2, end: 10, mbit: 48, rttMs: 20, buffer: 90, timeoutAt: 7, own: "192.0.2.12:40002",
			remote: "198.51.100.7:5201",
		},
		{
			id: 3, start: 3.0, end: 10, mbit: 8, rttMs: 22, buffer: 40, localAt: 6, own: "192.0.2.13:40003",
			remote: "198.51.100.7:5201",
		},
		{
			id: 4, start: 0.2, end: 8, mbit: 6, rttMs: 24, buffer: 40, own: "[2001:db8:1234:5678::21]:50424",
			remote: "[2001:db8:9999::7]:5201",
		},
	}
	up := []synthetic{upload}
	down := upload
	bbr := upload
	down.receives = true
	bbr.timeoutAt = 0
	bbr.bbr = true
	air := upload
	air.air = true
	loss := Options{From: 2550 * time.Millisecond, To: 2800 * time.Millisecond}
	return []sample{
		{"cwnd", Cwnd, Options{}, up},
		{"rtt", RTT, Options{}, up},
		{"queues", Queues, Options{}, up},
		{"rates", Rates, Options{}, up},
		{"windows", Windows, Options{}, up},
		{"cubic", Cubic, Options{}, up},
		{"bbr", BBR, Options{}, []synthetic{bbr}},
		{"sequence", Sequence, loss, up},
		{"limits", Limits, Options{}, up},
		{"radio", Radio, Options{}, []synthetic{air}},
		{"overview", Overview, Options{}, up},
		{"grid", Cwnd, Options{Grid: true}, terminals},

		{"radio-of-none", Radio, Options{}, up},
		{"rtt-log", RTT, Options{LogRTT: true}, up},
		{
			"rtt-time-of-day", RTT,
			Options{
				Wall: time.Date(2026, 3, 14, 15, 9, 26, 5e8, time.UTC), Note: "3 records were lost while recording",
			},
			up,
		},
		{"cwnd-grey", Cwnd, Options{Theme: figure.Print}, up},
		{"cwnd-column", Cwnd, Options{WidthCm: 8.5, HeightCm: 6.5}, up},
		{"windows-grey", Windows, Options{Theme: figure.Print}, up},
		{"cubic-of-bbr", Cubic, Options{}, []synthetic{bbr}},
		{"queues-receiver", Queues, Options{}, []synthetic{down}},
		{"rates-receiver", Rates, Options{}, []synthetic{down}},
		{"sequence-receiver", Sequence, loss, []synthetic{down}},
		{"sequence-timeout", Sequence, Options{From: 6100 * time.Millisecond, To: 6700 * time.Millisecond}, up},
		{"sequence-whole", Sequence, Options{}, up},
		{"grid-column", Cwnd, Options{Grid: true, WidthCm: 8.5}, terminals},
		{"rates-grid", Rates, Options{Grid: true, Title: "Four terminals at one access point"}, terminals},
		{"overview-grid", Overview, Options{Grid: true}, terminals},
	}
}

func (s sample) draw(t *testing.T, format string, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Draw(&b, format, s.kind, collect(t, []Kind{s.kind}, o, s.flows...), o); err != nil {
		t.Fatalf("%s as %s: %v", s.name, format, err)
	}
	return b.Bytes()
}

// Every sample figure can be drawn in every format.
func TestSamplesInAllFormats(t *testing.T) {
	starts := map[string]string{"png": "\x89PNG", "svg": "<?xml", "pdf": "%PDF-"}
	for _, s := range samples() {
		for _, format := range Formats {
			o := s.o
			if *pictures == "" {
				o.DPI = 40
			}
			b := s.draw(t, format, o)
			if !bytes.HasPrefix(b, []byte(starts[format])) {
				t.Errorf("%s is no %s", s.name, format)
			}
			if *pictures != "" {
				if err := os.WriteFile(filepath.Join(*pictures, s.name+"."+format), b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// The guide shows a picture of each figure, and all its pictures are there and small.
func TestGuideHasAPictureOfEachFigure(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/guide/plot.md")
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]sample{}
	for _, s := range samples() {
		byName[s.name] = s
	}
	shown := map[Kind]bool{}
	picture := regexp.MustCompile(`\]\(\.\./(img/plot-([a-z-]+)\.png)\)`)
	for _, match := range picture.FindAllStringSubmatch(string(guide), -1) {
		path := filepath.Join("../../../docs", match[1])
		s := byName[match[2]]
		if s.name == "" {
			t.Errorf("the guide shows %s, which is no sample", match[1])
			continue
		}
		shown[s.kind] = true
		b, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := png.Decode(bytes.NewReader(b)); err != nil || len(b) > 150_000 {
			t.Errorf("%s has %d bytes (%v), want a PNG of at most 150 kB", path, len(b), err)
		}
	}
	for _, k := range Kinds() {
		if !shown[k] {
			t.Errorf("the guide has no picture of %s", k)
		}
		if !strings.Contains(string(guide), "### "+string(k)+": ") {
			t.Errorf("the guide has no section on %s", k)
		}
	}
}
