package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/view/terminal"
	"airtide/test/pty"
)

// kernelRecording is a real recording of 14 flows in the repository.
const kernelRecording = "../../internal/recording/trace/testdata/kernel.atr"

func TestAFlowThatIsNotThereIsMisuse(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"info", kernelRecording, "--flow", "99"},
		{"info", kernelRecording, "--flow", "99", "--json"},
		{"info", kernelRecording, "--flow", "0"},
		{"plot", kernelRecording, "-o", filepath.Join(dir, "a.svg"), "--flow", "99"},
		{"plot", kernelRecording, "-o", filepath.Join(dir, "a.svg"), "--grid", "--flow", "3,99"},
		{"export", kernelRecording, "-o", filepath.Join(dir, "a"), "--to", "csv", "--flow", "3,99"},
		{"export", kernelRecording, "-o", filepath.Join(dir, "a"), "--to", "parquet", "--flow", "99"},
	} {
		stdout, stderr, status := run(t, args...)
		if status != statusMisuse || !strings.Contains(stderr, "has no flow ") ||
			!strings.Contains(stderr, "it has 1 to 14\n") ||
			stdout != "" {
			t.Errorf("airtide %s: status %d: %q, %q", strings.Join(args, " "), status, stdout, stderr)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("misuse left %v", left)
	}
}

func TestFlowsAreListedByRanges(t *testing.T) {
	for _, c := range []struct {
		ids  []tcp.FlowID
		want string
	}{
		{nil, "none"},
		{[]tcp.FlowID{3}, "3"},
		{[]tcp.FlowID{2, 1, 2, 4, 6, 5}, "1 to 2, 4 to 6"},
		{[]tcp.FlowID{1, 3, 5, 7, 9, 11, 13, 15, 17, 18}, "1, 3, 5, 7, 9, 11, 13, 15, 2 more"},
	} {
		if got := (&flowList{ids: c.ids}).String(); got != c.want {
			t.Errorf("%v are listed as %q, want %q", c.ids, got, c.want)
		}
	}
}

func TestAFigureSaysWhatItsRecordingLacks(t *testing.T) {
	for _, c := range []struct {
		lost   uint64
		damage trace.Damage
		want   string
	}{
		{0, trace.Damage{CleanEnd: true}, ""},
		{0, trace.Damage{Live: true}, ""},
		{3, trace.Damage{CleanEnd: true}, "3 records lost while recording"},
		{3, trace.Damage{}, "3 records lost while recording; recording: cut off: the recording was not ended " +
			"cleanly"},
	} {
		if got := missing(c.lost, c.damage); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// The default figure does not show a connection that was busy before the recording and idle since.
func TestTheBusiestFlowIsWhatMovedMostMeanwhile(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes [3][2][2]int64 // acknowledged and received by each flow, in its first and its last sample
		want  tcp.FlowID
	}{
		{"the oldest is idle", [3][2][2]int64{{{9e9, 9e9}, {9e9, 9e9}}, {{0, 0}, {1000, 0}}, {{0, 0}, {500, 0}}}, 2},
		{
			"the oldest is busy",
			[3][2][2]int64{{{9e9, 9e9}, {9e9, 9e9 + 5000}}, {{0, 0}, {1000, 0}}, {{0, 0}, {500, 0}}},
			1,
		},
		{
			"a young one is known by one sample",
			[3][2][2]int64{
				{{9e9, 0}, {9e9 + 10, 0}}, {{tcp.Absent, tcp.Absent}, {tcp.Absent, tcp.Absent}}, {{500, 0}, {500, 0}},
			},
			3,
		},
		{"a sender counts before a receiver of as " +
			"much", [3][2][2]int64{{{0, 0}, {0, 0}}, {{0, 0}, {0, 1000}}, {{0, 0}, {1000, 0}}}, 3},
		{"nothing moved", [3][2][2]int64{}, 1},
	} {
		v := newVolume()
		for i, flow := range c.bytes {
			id := tcp.FlowID(i + 1)
			_ = v.Flow(&tcp.Flow{ID: id, Inherited: id == 1})
			batch := tcp.NewBatch(2)
			for _, sample := range flow {
				s := &tcp.Sample{Flow: id}
				s.Values[tcp.AckedBytes] = sample[0]
				s.Values[tcp.ReceivedBytes] = sample[1]
				batch.Append(s)
			}
			_ = v.Samples(batch)
		}
		if got := v.busiest(); got != c.want {
			t.Errorf("%s: flow %d, want %d", c.name, got, c.want)
		}
	}
}

func TestAnInterruptEndsWhoReadsARecording(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, args := range [][]string{
		{"info", kernelRecording},
		{"plot", kernelRecording, "-o", filepath.Join(dir, "a.svg")},
		{"plot", kernelRecording, "-o", filepath.Join(dir, "a.svg"), "--flow", "3"},
		{"export", kernelRecording, "-o", filepath.Join(dir, "a"), "--to", "jsonl"},
		{"fairness", kernelRecording},
	} {
		root := newRoot(&terminal.Terminal{})
		out := &bytes.Buffer{}
		root.SetArgs(args)
		root.SetOut(out)
		if err := root.ExecuteContext(ctx); err == nil || !strings.Contains(err.Error(), "interrupted") ||
			out.Len() > 0 {
			t.Errorf("airtide %s: %v, printed %q", strings.Join(args, " "), err, out)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("interrupted verbs left %v", left)
	}
}

func TestWhateverIsReadNextAfterAnInterruptIsNotDelivered(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	reached := 0
	w := &watched{ctx: ctx, sink: &each{func() { reached++ }}}
	batch := tcp.NewBatch(1)
	batch.Append(&tcp.Sample{})
	deliver := []func() error{
		func() error { return w.Flow(&tcp.Flow{}) },
		func() error { return w.Samples(batch) },
		func() error { return w.Event(&tcp.Event{}) },
		func() error { return w.Lost(&tcp.Loss{}) },
	}
	for i, f := range deliver {
		if err := f(); err != nil || reached != i+1 {
			t.Errorf("before the interrupt: %v, %d of %d delivered", err, reached, i+1)
		}
	}
	stop()
	reached = 0
	for i, f := range deliver {
		if err := f(); err == nil || err.Error() != "interrupted" || reached != 0 {
			t.Errorf("delivery %d after the interrupt: %v, %d delivered", i, err, reached)
		}
	}
}

// each is a sink that does something for whatever reaches it.
type each struct{ do func() }

func (e *each) Flow(*tcp.Flow) error     { e.do(); return nil }
func (e *each) Samples(*tcp.Batch) error { e.do(); return nil }
func (e *each) Event(*tcp.Event) error   { e.do(); return nil }
func (e *each) Lost(*tcp.Loss) error     { e.do(); return nil }

func (e *each) Radio(*tcp.Radio) error { e.do(); return nil }

func TestReadingThatTakesLongSaysHowFarItIs(t *testing.T) {
	term := pty.Open(t, 80, 24)
	live := terminal.New(os.Stdout, term.Slave, func(string) string { return "" })
	shown := term.Shown
	r, err := openTrace(t.Context(), live, kernelRecording)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.scan(t.Context(), "reading", trace.ScanOptions{}, tcp.Discard{}); err != nil {
		t.Fatal(err)
	}
	if text := shown(); text != "" {
		t.Errorf("what takes no time says %q", text)
	}
	r.begun = time.Now().Add(-time.Minute)
	whole, _ := r.Totals()
	const erase = "\r\x1b[K"
	want := fmt.Sprintf("%sreading %s: ", erase, kernelRecording)
	slow := &each{func() {
		waitFor(t, "the first words", func() bool { return strings.Contains(shown(), want) })
	}}
	if err := r.scan(t.Context(), "reading", trace.ScanOptions{}, slow); err != nil {
		t.Fatal(err)
	}
	of := " of " + wholeSeconds(whole.LastNs-r.Metadata().ClockMonotonicNs)
	waitFor(t, "the line to be cleared", func() bool { return strings.HasSuffix(shown(), of+erase) })
}

// decoded reads a PNG and counts the pixels that differ from the first pixel.
func decoded(t *testing.T, path string) (inked int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	b := img.Bounds()
	background := img.At(b.Min.X, b.Min.Y)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if img.At(x, y) != background {
				inked++
			}
		}
	}
	return inked
}

func TestOneFlowIsDrawn(t *testing.T) {
	dir := t.TempDir()
	figures := map[string]bool{}
	for _, flow := range []string{"1", "3"} {
		out := filepath.Join(dir, flow+".png")
		mustRun(t, "plot", kernelRecording, "--flow", flow, "--dpi", "100", "-o", out)
		if n := decoded(t, out); n < 1000 {
			t.Errorf("flow %s: %d pixels are drawn", flow, n)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		figures[string(b)] = true
	}
	if len(figures) != 2 {
		t.Error("the figures of two flows are the same")
	}
}

func TestOneFlowIsSummedUpAndExported(t *testing.T) {
	text := mustRun(t, "info", kernelRecording, "--flow", "3")
	for _, want := range []string{"flow 3", "192.0.2."} {
		if !strings.Contains(text, want) {
			t.Errorf("info of flow 3 does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "flow 1 ") {
		t.Errorf("info of flow 3 tells of flow 1:\n%s", text)
	}
	rows := map[int]int{}
	for line := range strings.Lines(
		mustRun(t, "export", kernelRecording, "--flow", "3,5", "--to", "jsonl", "-o", "-"),
	) {
		var row struct {
			Type string
			Flow int
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if row.Type == "sample" {
			rows[row.Flow]++
		}
	}
	if len(rows) != 2 || rows[3] < 100 || rows[5] < 100 {
		t.Errorf("rows by flow %v, want those of 3 and 5 alone", rows)
	}
}

// A file of a later major version is refused as a whole, because an older reader would misread it.
func TestARecordingOfALaterVersionIsRefused(t *testing.T) {
	file, err := os.ReadFile(kernelRecording)
	if err != nil {
		t.Fatal(err)
	}
	marker := file[:8]
	later := file[9] + 1 // every block begins with the marker, its kind and the major version
	for at := 0; ; {
		file[at+9] = later
		next := bytes.Index(file[at+8:], marker)
		if next < 0 {
			break
		}
		at += 8 + next
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "later.atr")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s: it has format version %d, and this airtide reads up to version %d", path, later, later-1)
	for _, args := range [][]string{
		{"info", path},
		{"info", path, "--json"},
		{"export", path, "--to", "csv", "-o", filepath.Join(dir, "out")},
		{"export", path, "--to", "jsonl", "-o", "-"},
		{"plot", path, "-o", filepath.Join(dir, "out.png")},
		{"fairness", path},
	} {
		stdout, stderr, status := run(t, args...)
		if status != statusFailed || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 ||
			stdout != "" {
			t.Errorf("airtide %s: status %d: %d bytes of output, %q", strings.Join(args, " "), status, len(stdout),
				stderr)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("what is refused left %v", left)
	}
}

func TestCSVOfEveryRecordingHasTheSameColumns(t *testing.T) {
	header := func(args ...string) []string {
		args = append([]string{"export", kernelRecording, "--to", "csv", "--table", "samples", "-o", "-"}, args...)
		first, _, _ := strings.Cut(mustRun(t, args...), "\n")
		return strings.Split(first, ",")
	}
	all := header()
	for _, name := range tcp.FieldNames() {
		if !slices.Contains(all, name) {
			t.Errorf("the CSV has no column %s", name)
		}
	}
	if dropped := header("--drop-empty"); len(dropped) >= len(all) || !slices.Contains(dropped, "cwnd_packets") {
		t.Errorf("--drop-empty leaves %v", dropped)
	}
	if got := strings.Join(header("--fields", "time_ns"), ","); got != "flow,time_ns,time" {
		t.Errorf("--fields time_ns gives %s", got)
	}
	if got := strings.Join(header("--fields", "time_ns, cwnd_packets"), ","); got != "flow,time_ns,time,cwnd_packets" {
		t.Errorf("--fields time_ns, cwnd_packets gives %s", got)
	}
}
