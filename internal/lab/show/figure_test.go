package show

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
)

// bench is an experiment whose figures are of every kind.
const bench = `name: bench
title: Terminals of three ages under four disciplines
duration: 5 s
repeats: 4
terminals:
  phone: {radio: {standard: ac, phy_rate: 433.3 Mbit/s}}
  tablet: {radio: {standard: n, phy_rate: 65 Mbit/s}, count: 2}
servers:
  server:
flows:
  upload: {from: terminals, to: server, protocol: tcp}
sweep:
  - {over: cell.ap.discipline, values: [fifo, fifo_per_station, fq_codel, airtime_fair]}
  - {over: path.rate, values: [10 Mbit/s, 100 Mbit/s, 1 Gbit/s]}
record:
  tcp: all
measure:
  goodput: {quantity: goodput, take: each}
  total: {quantity: goodput, take: sum}
  best: {quantity: goodput, take: max}
  ping: {quantity: srtt}
  airtime: {quantity: airtime, take: each}
figures:
  by_rate: {kind: lines, x: rate, y: [total, best, ping], series: discipline}
  by_discipline: {kind: bars, x: discipline, y: total, series: rate}
  each_terminal: {kind: bars, x: rate, y: goodput, series: discipline}
  tradeoff: {kind: scatter, x: total, y: ping, series: discipline}
  each_tradeoff: {kind: scatter, title: Each flow, x: best, y: goodput, series: discipline}
  over_rate: {kind: scatter, x: rate, y: total, series: discipline}
`

func benchScene() scene {
	disciplines := map[string]float64{"fifo": 1, "fifo_per_station": 0.95, "fq_codel": 1.2, "airtime_fair": 2}
	return scene{file: bench, noise: 0.08, seed: 3, model: func(q plan.Quantity, s map[string]string, _ string, i int) float64 {
		d := disciplines[s["discipline"]]
		limit := map[string]float64{"10 Mbit/s": 3, "100 Mbit/s": 30, "1 Gbit/s": 60}[s["rate"]]
		switch q {
		case "srtt":
			return 100 / d / d
		case "airtime":
			return 30
		}
		return limit * d / float64(1+i)
	}}
}

// picture is what is written in an SVG.
type picture struct{ texts []string }

func parsed(t *testing.T, data []byte) picture {
	t.Helper()
	var p picture
	d := xml.NewDecoder(bytes.NewReader(data))
	inText := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return p
		}
		if err != nil {
			t.Fatalf("not SVG: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			inText = e.Name.Local == "text"
			for _, a := range e.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s of %s is %s", a.Name.Local, e.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			if inText && strings.TrimSpace(string(e)) != "" {
				p.texts = append(p.texts, strings.TrimSpace(string(e)))
			}
		case xml.EndElement:
			inText = false
		}
	}
}

func (p picture) has(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !slices.Contains(p.texts, text) {
			t.Errorf("%q is not in the figure: %q", text, p.texts)
		}
	}
}

func drawn(t *testing.T, r *Report, name string, o FigureOptions) picture {
	t.Helper()
	for _, format := range Formats {
		var b bytes.Buffer
		if err := r.DrawFigure(&b, format, name, o); err != nil {
			t.Fatal(err)
		}
		keep(t, fmt.Sprintf("%s-%s-%v.%s", r.Experiment, name, o.Grey, format), b.Bytes())
	}
	var b bytes.Buffer
	if err := r.DrawFigure(&b, "svg", name, o); err != nil {
		t.Fatal(err)
	}
	return parsed(t, b.Bytes())
}

func TestFiguresOfEveryKind(t *testing.T) {
	r := reportOf(t, benchScene().make(t))
	o := FigureOptions{DPI: 100}
	drawn(t, r, "by_rate", o).has(t, "rate (Mbit/s)", "10", "100", "1000", "goodput (Mbit/s)", "ping (ms)", "total, fifo", "best, airtime_fair", "fq_codel",
		"error bars: 95 % interval of the mean of 4 runs", "Terminals of three ages under four disciplines")
	drawn(t, r, "by_discipline", o).has(t, "discipline", "fifo_per_station", "total (Mbit/s)", "10 Mbit/s", "1 Gbit/s",
		number(r.Points[2].measurement("total").Summary.Mean)) // above its bar
	drawn(t, r, "each_terminal", o).has(t, "mean goodput (Mbit/s)", "airtime_fair") // 12 series would be too many
	drawn(t, r, "tradeoff", o).has(t, "total (Mbit/s)", "ping (ms)", "fq_codel", "small: one run; large: the mean of 4 runs")
	drawn(t, r, "each_tradeoff", o).has(t, "Each flow")
	drawn(t, r, "over_rate", o).has(t, "rate (Mbit/s)")
	narrow := drawn(t, r, "by_discipline", FigureOptions{DPI: 150, WidthCm: 6.5, Grey: true}) // names do not fit side by side
	narrow.has(t, "fifo_per_station", "airtime_fair")
	grey := drawn(t, r, "by_rate", FigureOptions{DPI: 200, WidthCm: 8.5, Grey: true, NoTitle: true})
	if slices.Contains(grey.texts, r.Title) {
		t.Error("the title was not left out")
	}
}

func TestAScatterHasEachRunAndTheMeansWithTheirNames(t *testing.T) {
	r := reportOf(t, benchScene().make(t))
	f := plan.Figure{Kind: "scatter", X: "total", Y: plan.Names{"ping", "best"}, Series: plan.Names{"discipline"}, At: plan.Place{"rate": "1 Gbit/s"}}
	c, err := r.chart(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.panels) != 2 || c.panels[0].title != "ping (ms)" || c.panels[1].title != "best (Mbit/s)" {
		t.Fatalf("%d panels: %+v", len(c.panels), c.panels)
	}
	for _, s := range c.panels[0].series {
		means := s.means()
		if len(s.points) != 4 || len(means) != 1 {
			t.Errorf("%s has %d points and %d means, want 4 and 1", c.names[s.index], len(s.points), len(means))
			continue
		}
		sum := 0.0
		for _, p := range s.points {
			sum += p.x
		}
		if math.Abs(means[0].x-sum/4) > 1e-9 {
			t.Errorf("%s: the mean lies at %g, want %g", c.names[s.index], means[0].x, sum/4)
		}
	}
	if !c.labelled() {
		t.Error("the names do not stand beside the marks")
	}
	f.At = nil // three rates of four disciplines: a mean for each
	if c, err = r.chart(f); err != nil || len(c.panels[0].series[0].means()) != 3 || !c.labelled() {
		t.Errorf("without a place: %v", err)
	}
	f.Series = nil // each of the twelve has a name of its own
	if c, err = r.chart(f); err != nil || len(c.names) != 12 {
		t.Errorf("%d names (%v), want 12", len(c.names), err)
	}
}

func TestOnlyLikeNumbersShareAPanel(t *testing.T) {
	file := strings.Replace(bench, "  airtime: {", "  index: {quantity: goodput, take: jain}\n  other_index: {quantity: share, take: jain}\n  late: {quantity: timeouts}\n  early: {quantity: reordering}\n  airtime: {", 1)
	s := benchScene()
	s.file = file
	r := reportOf(t, s.make(t))
	c, err := r.chart(plan.Figure{Kind: "bars", X: "rate", Y: plan.Names{"total", "index", "late", "other_index", "early"}, Series: plan.Names{"discipline"}})
	if err != nil {
		t.Fatal(err)
	}
	var series []int
	for _, p := range c.panels {
		series = append(series, len(p.series))
	}
	if !slices.Equal(series, []int{4, 8, 4, 4}) {
		t.Errorf("panels of %v series, want the total, the two indices, and a panel for each count", series)
	}
}

func TestFigureEightHasALogarithmicAxisWithZero(t *testing.T) {
	r := reportOf(t, figureEight(t).make(t))
	drawn(t, r, "figure8", FigureOptions{DPI: 100}).has(t, "Miki et al. 2010, figure 8", "RTT (ms)", "0", "16", "64", "512", "ubuntu-9.10, reverse")
	c, err := r.chart(r.figures()[0].Is)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range c.panels[0].series {
		if len(s.points) != 4 || math.IsNaN(c.x.gap) {
			t.Fatalf("%s has %d points, gap %v", c.names[i], len(s.points), c.x.gap)
		}
		if between := s.points[2].x - s.points[1].x; math.Abs(between-math.Log10(4)) > 1e-9 || s.points[0].x > c.x.gap || s.points[1].x < c.x.gap {
			t.Errorf("points at %v, gap at %v", s.points, c.x.gap)
		}
		for _, p := range s.points {
			if !(p.low < p.y && p.y < p.high) {
				t.Errorf("%s: no interval about the mean: %+v", c.names[i], p)
			}
		}
	}
}

// Without figures in the file, what has several values is drawn by flow or terminal.
func TestExperimentWithoutFigures(t *testing.T) {
	r := reportOf(t, quickstart(t).make(t))
	if got := strings.Join(r.Figures(), " "); got != "goodput airtime" {
		t.Errorf("figures are %s", got)
	}
	drawn(t, r, "goodput", FigureOptions{DPI: 100}).has(t, "upload1", "upload4", "goodput (Mbit/s)")
	drawn(t, r, "airtime", FigureOptions{DPI: 100}).has(t, "phone", "tablet2", "airtime (%)")
	dir := filepath.Join(t.TempDir(), "figures")
	var files []string
	err := r.WriteFigures(dir, []string{"png", "svg"}, FigureOptions{}, func(file string, number, of int) {
		files = append(files, file)
		if there, _ := os.ReadDir(dir); len(there) != number || number != len(files) || of != 4 {
			t.Errorf("file %d of %d, %s, was told of when there were %d", number, of, file, len(there))
		}
	})
	if err != nil || len(files) != 4 {
		t.Fatalf("wrote %v, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	config, err := png.DecodeConfig(bytes.NewReader(data))
	if want := int(math.Round(16 / 2.54 * 300)); err != nil || config.Width < want-1 || config.Width > want+1 || !bytes.Contains(data[:100], []byte("pHYs")) {
		t.Errorf("%d pixels wide, want %d, %v", config.Width, want, err)
	}
}

func TestMissingPointsAreLeftOutOfFigures(t *testing.T) {
	s := benchScene()
	s.skip = func(run plan.Run, n int) bool {
		return n%5 == 0 || strings.HasPrefix(run.ID, "discipline=fifo,rate=100Mbits")
	}
	r := reportOf(t, s.make(t))
	p := drawn(t, r, "by_rate", FigureOptions{DPI: 50})
	note := p.texts[len(p.texts)-1]
	if i := slices.IndexFunc(p.texts, func(s string) bool { return strings.Contains(s, "runs are missing") }); i < 0 {
		t.Errorf("the figure does not say that runs are missing: %s", note)
	}
}

func TestTimeSeriesOfARun(t *testing.T) {
	for name, c := range map[string]struct {
		file   string
		expect []string
		not    string
	}{
		"cell":     {quickstart(t).file, []string{"goodput (Mbit/s)", "airtime (%)", "own queue (packets)", "AP queue (packets)", "time (s)", "tablet2", "measurements begin at 2 s"}, ""},
		"wire":     {committed(t, "p2-table3.yaml"), []string{"goodput (Mbit/s)", "time (s)", "beagle"}, "airtime (%)"},
		"a crowd":  {strings.Replace(quickstart(t).file, "count: 2", "count: 40", 1), []string{"measurements begin at 2 s; 42 terminals, without a legend"}, "tablet2"},
		"no sweep": {bench, []string{"bench, run discipline"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := scene{file: c.file, model: func(plan.Quantity, map[string]string, string, int) float64 { return 1 }}
			s.skip = func(_ plan.Run, n int) bool { return n > 0 }
			r := reportOf(t, s.make(t))
			dir := filepath.Join(r.Dir, "runs", r.results[0].Run)
			var b bytes.Buffer
			if err := DrawRun(&b, "svg", dir, FigureOptions{}); err != nil {
				t.Fatal(err)
			}
			p := parsed(t, b.Bytes())
			for _, text := range c.expect {
				if !slices.ContainsFunc(p.texts, func(s string) bool { return strings.HasPrefix(s, text) }) {
					t.Errorf("%q is not in the figure: %q", text, p.texts)
				}
			}
			if c.not != "" && slices.Contains(p.texts, c.not) {
				t.Errorf("%q is in the figure", c.not)
			}
			b.Reset()
			if err := DrawRun(&b, "png", dir, FigureOptions{DPI: 100}); err != nil {
				t.Fatal(err)
			}
			keep(t, "run-"+name+".png", b.Bytes())
			if err := os.Truncate(filepath.Join(dir, "cell.jsonl"), 50); err != nil {
				t.Fatal(err)
			}
			if err := DrawRun(io.Discard, "png", dir, FigureOptions{}); err == nil || !strings.Contains(err.Error(), "cell.jsonl") {
				t.Errorf("a damaged series: %v", err)
			}
		})
	}
}

func TestFigureOptionsAreChecked(t *testing.T) {
	r := reportOf(t, quickstart(t).make(t))
	for text, draw := range map[string]func() error{
		"has none of this name, it has: goodput, airtime": func() error { return r.DrawFigure(io.Discard, "png", "nothing", FigureOptions{}) },
		"unknown format": func() error { return r.DrawFigure(io.Discard, "bmp", "goodput", FigureOptions{}) },
		"size 1 x 0 cm":  func() error { return r.DrawFigure(io.Discard, "png", "goodput", FigureOptions{WidthCm: 1}) },
		"size NaN x 0":   func() error { return r.DrawFigure(io.Discard, "png", "goodput", FigureOptions{WidthCm: math.NaN()}) },
		"9999 dpi":       func() error { return r.DrawFigure(io.Discard, "png", "goodput", FigureOptions{DPI: 9999}) },
		"million pixels": func() error {
			return r.DrawFigure(io.Discard, "png", "goodput", FigureOptions{DPI: 2400, WidthCm: 100})
		},
		"no result":        func() error { _, err := Read(t.TempDir(), nil); return err },
		"reading a result": func() error { return DrawRun(io.Discard, "png", t.TempDir(), FigureOptions{}) },
	} {
		if err := draw(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
}

// No two series look alike, in colour or in grey; neighbours differ in every respect.
func TestLooksDiffer(t *testing.T) {
	for _, grey := range []bool{false, true} {
		seen := map[string]bool{}
		for i := range maxEntries {
			l := looks(i, grey)
			if k := fmt.Sprint(l.ink, l.dashes, l.marker, l.hatch); seen[k] {
				t.Errorf("series %d looks like another", i)
			} else {
				seen[k] = true
			}
		}
	}
}

func TestAxisFollowsTheValues(t *testing.T) {
	param := func(text string, number float64) judge.Param { return judge.Param{Text: text, Number: number} }
	for name, c := range map[string]struct {
		values []judge.Param
		title  string
		labels string
		at     []float64
	}{
		"words":       {[]judge.Param{param("reno", math.NaN()), param("cubic", math.NaN())}, "x", "reno cubic", []float64{0, 1}},
		"even":        {[]judge.Param{param("30", 30), param("10", 10), param("20", 20)}, "x", "10 20 30", []float64{30, 10, 20}},
		"decades":     {[]judge.Param{param("1 ms", 1e-3), param("10 ms", 1e-2), param("0.1 s", 0.1)}, "x (ms)", "1 10 100", []float64{0, 1, 2}},
		"with a zero": {[]judge.Param{param("0 ms", 0), param("1 ms", 1e-3), param("10 ms", 1e-2), param("100 ms", 0.1)}, "x (ms)", "0 1 10 100", []float64{-1.2, 0, 1, 2}},
		"one value":   {[]judge.Param{param("5 ms", 5e-3)}, "x (ms)", "5", []float64{5}},
		"only zero":   {[]judge.Param{param("0 ms", 0)}, "x", "0", []float64{0}},
		"crowded":     {[]judge.Param{param("1", 1), param("2", 2), param("100", 100), param("0", 0), param("101", 101)}, "x", "0 1 2 100 101", nil},
	} {
		a := axisOf("x", c.values)
		var labels []string
		for _, tick := range a.ticks {
			labels = append(labels, tick.Label)
		}
		if a.title != c.title || strings.Join(labels, " ") != c.labels {
			t.Errorf("%s: title %q, labels %q", name, a.title, labels)
		}
		for i, want := range c.at {
			if got := a.place(c.values[i]); math.Abs(got-want) > 1e-9 || got < a.low || got > a.high {
				t.Errorf("%s: %s stands at %v of %v..%v, want %v", name, c.values[i].Text, got, a.low, a.high, want)
			}
		}
	}
	many := make([]judge.Param, 40)
	for i := range many {
		many[i] = param(fmt.Sprint(i+100), float64(i+100))
	}
	if a := axisOf("x", many); !a.automatic || a.low > 100 || a.high < 139 {
		t.Errorf("forty values: %+v", a)
	}
}

// A figure in grey has no colours.
func TestGreyIsGrey(t *testing.T) {
	r := reportOf(t, quickstart(t).make(t))
	var b bytes.Buffer
	if err := r.DrawFigure(&b, "png", "goodput", FigureOptions{Grey: true, DPI: 60}); err != nil {
		t.Fatal(err)
	}
	img, _, err := image.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if r, g, b, _ := img.At(x, y).RGBA(); r != g || g != b {
				t.Fatalf("a coloured pixel at %d, %d", x, y)
			}
		}
	}
}
