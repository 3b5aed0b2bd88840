package figures

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"airtide/internal/lab/plan"
	"airtide/internal/view/figure"
	"airtide/test/results"
)

func TestFiguresOfEveryKind(t *testing.T) {
	r := reportOf(t, results.BenchScene().Make(t))
	o := figure.Options{DPI: 100}
	for name, texts := range map[string][]string{
		"by_rate": {
			"rate (Mbit/s)", "10", "100", "1000", "goodput (Mbit/s)", "ping (ms)", "total, fifo", "best, airtime_fair",
			"fq_codel", "error bars: 95 % interval of the mean of 4 runs",
			"Terminals of three ages under four disciplines",
		},
		"by_discipline": {
			"discipline", "fifo_per_station", "total (Mbit/s)", "10 Mbit/s", "1 Gbit/s",
			fourDigits(r.Points[2].Measurement("total").Summary.Mean), // above its bar
		},
		"each_terminal": {"mean goodput (Mbit/s)", "airtime_fair"}, // 12 series would be too many
		"tradeoff":      {"total (Mbit/s)", "ping (ms)", "fq_codel", "small: one run; large: the mean of 4 runs"},
		"each_tradeoff": {"Each flow"},
		"over_rate":     {"rate (Mbit/s)"},
	} {
		p := drawn(t, r, name, o)
		has(t, p, texts...)
		if name != "tradeoff" && name != "each_tradeoff" && name != "over_rate" { // labels may touch
			p.CheckLayout(t)
		}
	}
}

// fourDigits is a value of at least 1 as it stands above a bar.
func fourDigits(v float64) string {
	return strconv.FormatFloat(v, 'f', 3-int(math.Floor(math.Log10(v))), 64)
}

func TestNarrowFiguresTurnNames(t *testing.T) {
	r := reportOf(t, results.BenchScene().Make(t))
	narrow := drawn(t, r, "by_discipline", figure.Options{DPI: 150, WidthCm: 6.5, Theme: figure.Print})
	has(t, narrow, "fifo_per_station", "airtime_fair")
	grey := drawn(t, r, "by_rate", figure.Options{DPI: 200, WidthCm: 8.5, Theme: figure.Print, NoTitle: true})
	if grey.Has(r.Title) {
		t.Error("the title was not left out")
	}
	grey.CheckLayout(t)
}

func TestOnlyLikeNumbersShareAPanel(t *testing.T) {
	s := results.BenchScene()
	s.File = strings.Replace(results.Bench, "  airtime: {", `  index: {quantity: goodput, take: jain}
  other_index: {quantity: share, take: jain}
  late: {quantity: timeouts}
  early: {quantity: reordering}
  airtime: {`, 1)
	c := chartOf(t, reportOf(t, s.Make(t)), plan.Figure{
		Kind: "bars", X: "rate", Y: plan.Names{"total", "index", "late", "other_index", "early"},
		Series: plan.Names{"discipline"},
	})
	var series []int
	for _, p := range c.panelsOf() {
		series = append(series, len(p.Series))
	}
	if !slices.Equal(series, []int{4, 8, 4, 4}) {
		t.Errorf("panels of %v series, want the total, the two indices, and a panel for each count", series)
	}
}

func TestFigureEightHasALogarithmicAxisWithZero(t *testing.T) {
	r := reportOf(t, results.FigureEight(t).Make(t))
	p := drawn(t, r, "figure8", figure.Options{DPI: 100})
	has(t, p, r.Plan().Experiment.Figures[0].Value.Title, "RTT (ms)", "0", "16", "64", "512", "ubuntu-9.10, reverse")
	p.CheckLayout(t)
	c := chartOf(t, r, figuresOf(r)[0].Value)
	if c.X.Kind != figure.LogWithZero {
		t.Errorf("the axis is %s", c.X.Kind)
	}
	for _, s := range c.panelsOf()[0].Series {
		if len(s.Data) != 4 || s.Data[0].X != 0 || math.Abs(s.Data[2].X/s.Data[1].X-4) > 1e-9 {
			t.Fatalf("%s has %d samples: %v", s.Name, len(s.Data), s.Data)
		}
		for _, d := range s.Data {
			if !(d.Low < d.Last && d.Last < d.High) {
				t.Errorf("%s: no interval about the mean: %+v", s.Name, d)
			}
		}
	}
}

// Without figures in the file, measurements of several values are drawn by flow or terminal.
func TestExperimentWithoutFigures(t *testing.T) {
	r := reportOf(t, results.Quickstart(t).Make(t))
	if got := strings.Join(Names(r), " "); got != "goodput airtime" {
		t.Errorf("figures are %s", got)
	}
	has(t, drawn(t, r, "goodput", figure.Options{DPI: 100}), "upload1", "upload4", "goodput (Mbit/s)")
	has(t, drawn(t, r, "airtime", figure.Options{DPI: 100}), "phone", "tablet2", "airtime (%)")
}

func TestFiguresReplacePlantedLinks(t *testing.T) {
	r := reportOf(t, results.Quickstart(t).Make(t))
	dir := t.TempDir()
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "goodput.svg")
	if err := os.Symlink(victim, link); err != nil {
		t.Fatal(err)
	}
	if err := WriteAll(t.Context(), r, dir, []string{"svg"}, figure.Options{}, nil); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("the target of the link has %q, %v", text, err)
	}
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
		t.Errorf("the figure is %v, %v", info.Mode(), err)
	}
}

func TestWriteAllReportsEachFile(t *testing.T) {
	r := reportOf(t, results.Quickstart(t).Make(t))
	dir := filepath.Join(t.TempDir(), "figures")
	var files []string
	err := WriteAll(t.Context(), r, dir, []string{"png", "svg"}, figure.Options{}, func(file string, number, of int) {
		files = append(files, file)
		if there, _ := os.ReadDir(dir); len(there) != number || number != len(files) || of != 4 {
			t.Errorf("file %d of %d, %s, was reported when there were %d", number, of, file, len(there))
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
	want := int(math.Round(16 / 2.54 * 300))
	if err != nil || config.Width < want-1 || config.Width > want+1 || !bytes.Contains(data[:100], []byte("pHYs")) {
		t.Errorf("%d pixels wide, want %d, %v", config.Width, want, err)
	}
}

func TestMissingRunsAreCountedInFigures(t *testing.T) {
	s := results.BenchScene()
	s.Skip = func(run plan.Run, n int) bool {
		return n%5 == 0 || strings.HasPrefix(run.ID, "discipline=fifo,rate=100Mbits")
	}
	p := drawn(t, reportOf(t, s.Make(t)), "by_rate", figure.Options{DPI: 50})
	if !strings.Contains(p.All(), "runs are missing") {
		t.Errorf("the figure does not say that runs are missing: %s", p.All())
	}
}

func TestErrorsNameTheCause(t *testing.T) {
	r := reportOf(t, results.Quickstart(t).Make(t))
	drawGoodput := func(format string, o figure.Options) func() error {
		return func() error { return Draw(t.Context(), io.Discard, format, r, "goodput", o) }
	}
	for text, draw := range map[string]func() error{
		"has none of this name, it has: goodput, airtime": func() error {
			return Draw(t.Context(), io.Discard, "png", r, "nothing", figure.Options{})
		},
		"unknown format": drawGoodput("bmp", figure.Options{}),
		"1 x ":           drawGoodput("png", figure.Options{WidthCm: 1}),
		"size NaN x 0":   drawGoodput("png", figure.Options{WidthCm: math.NaN()}),
		"9999 dpi":       drawGoodput("png", figure.Options{DPI: 9999}),
		"million pixels": drawGoodput("png", figure.Options{DPI: 2400, WidthCm: 100}),
		"reading a result": func() error {
			return DrawRun(t.Context(), io.Discard, "png", t.TempDir(), figure.Options{})
		},
	} {
		if err := draw(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
}

func TestResultWithoutRunsHasNothingToDraw(t *testing.T) {
	s := results.FigureEight(t)
	s.Skip = func(plan.Run, int) bool { return true }
	err := Draw(t.Context(), io.Discard, "svg", reportOf(t, s.Make(t)), "figure8", figure.Options{})
	if !errors.Is(err, ErrNothing) {
		t.Errorf("drawing nothing: %v", err)
	}
}

// A figure for print has no colours.
func TestPrintIsGrey(t *testing.T) {
	r := reportOf(t, results.Quickstart(t).Make(t))
	var b bytes.Buffer
	if err := Draw(t.Context(), &b, "png", r, "goodput", figure.Options{Theme: figure.Print, DPI: 60}); err != nil {
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
