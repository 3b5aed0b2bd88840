package screen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"airtide/internal/tcp"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// golden compares with a file in testdata.
func golden(t *testing.T, file, got string) {
	t.Helper()
	path := "testdata/" + file
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it); got:\n%s", path, got)
	}
}

// day is the wall clock of the tests at monotonic time 0.
var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// filled is a table after five seconds of six synthetic flows. The second flow has just closed, and
// the last flow has sent nothing.
func filled(t *testing.T) *Table {
	t.Helper()
	s := &synthetic{flows: 6}
	table := NewTable(TableOptions{})
	table.SetSource(Source{Name: "synthetic, per ACK", Unseen: []tcp.ErrorCode{tcp.CodeLocalCongestion}})
	observe(t, s.announce(table, 0))
	for ns := int64(0); ns < 5*second; ns += stepNs {
		observe(t, s.step(table, ns))
	}
	observe(t, table.Event(&tcp.Event{TimeNs: 5 * second, Flow: 2, Kind: tcp.EventClose, Reason: tcp.ReasonRemoteFIN}))
	silent := s.flow(7, 0)
	silent.Comm = "\x1b[31mevil \a"
	observe(t, table.Flow(silent))
	observe(t, table.Lost(&tcp.Loss{PerCPU: []uint64{0, 42}}))
	return table
}

func TestThePlainTableShowsEverything(t *testing.T) {
	table := filled(t)
	var b bytes.Buffer
	nowNs := 5 * second
	err := WriteTable(&b, day.Add(time.Duration(nowNs)), table.Status(nowNs), table.Rows(nowNs, Sort{}, Filter{}), 0)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "plain.txt", b.String())
	if strings.ContainsAny(b.String(), "\x1b\a") {
		t.Error("a process's name reached the terminal with its control characters")
	}
}

func TestThePlainTableFitsTheWidth(t *testing.T) {
	table := filled(t)
	nowNs := 5 * second
	for width := 30; width < 240; width++ {
		var b strings.Builder
		status := table.Status(nowNs)
		rows := table.Rows(nowNs, Sort{}, Filter{})
		if err := WriteTable(&b, day, status, rows, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("a line of %d columns at width %d:\n%s", n, width, b.String())
			}
		}
		if first, _, _ := strings.Cut(b.String(), "PROCESS"); strings.Count(first, "\n") != strings.Count(first, "# ") {
			t.Fatalf("width %d has a line without # above the table:\n%s", width, b.String())
		}
		for _, title := range []string{"PEER", "CWND"} {
			if !strings.Contains(b.String(), title) {
				t.Fatalf("width %d has no column %s:\n%s", width, title, b.String())
			}
		}
	}
}

func TestJSONNamesAreAContract(t *testing.T) {
	table := filled(t)
	var b bytes.Buffer
	lines := newLineWriter(&b, table, func() (int64, time.Time) { return 5 * second, day.Add(5 * time.Second) })
	for kind := tcp.EventOpen; kind <= tcp.EventTLPLoss; kind++ {
		if err := lines.Event(
			&tcp.Event{
				TimeNs: 4 * second, Flow: 1, Kind: kind, Code: tcp.CodeDupAck, NumBlocks: 1,
				SsthreshPackets: infiniteSsthresh,
			},
		); err != nil {
			t.Fatal(err)
		}
	}
	if err := lines.round(Sort{Key: "flow"}, Filter{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "lines.jsonl", b.String())
	for line := range strings.Lines(b.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
	}
}

// A connection that was established before the observation is not told as a new one.
func TestOldConnectionsAreSeenAndNewOnesOpen(t *testing.T) {
	for from, want := range map[tcp.State]string{tcp.StateEstablished: "seen", tcp.StateSynSent: "open"} {
		e := &tcp.Event{Kind: tcp.EventOpen, From: uint8(from), To: uint8(tcp.StateEstablished)}
		if got := newEventLine(e, "", "", day).Event; got != want {
			t.Errorf("from %s to established: %q, want %q", from, got, want)
		}
		if got := eventText(&RecentEvent{Event: *e}); !strings.HasPrefix(got, want) {
			t.Errorf("from %s to established: the detail says %q, want %q", from, got, want)
		}
	}
}

// replay is a source of five seconds. With wait, it ends with its context.
func replay(wait bool) func(context.Context, tcp.Sink) error {
	return func(ctx context.Context, sink tcp.Sink) error {
		s := &synthetic{flows: 3}
		if err := s.announce(sink, 0); err != nil {
			return err
		}
		for ns := int64(0); ns < 5*second; ns += stepNs {
			if err := s.step(sink, ns); err != nil {
				return err
			}
		}
		if wait {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
}

func fixedClock() (int64, time.Time) { return 5 * second, day }

func TestOutputEndsWithItsSourceItsContextOrTheFirstRound(t *testing.T) {
	refused := errors.New("loading programs: operation not permitted")
	type way func(context.Context, *Table, Options) error
	count := func(kind string) func(string) int {
		return func(out string) int { return strings.Count(out, `"type":"`+kind+`"`) }
	}
	tables := func(out string) int { return strings.Count(out, "# ") }
	for _, c := range []struct {
		name   string
		run    way
		o      Options
		cancel bool
		count  func(string) int
		want   int
		err    error
	}{
		{"a table of a source that " +
			"ends", Plain, Options{Source: replay(false), Interval: time.Hour}, false, tables, 1, nil},
		{
			"a table, once", Plain,
			Options{Source: replay(true), Interval: 300 * time.Millisecond, Once: true},
			false, tables, 1, nil,
		},
		{"a table until the context " +
			"ends", Plain, Options{Source: replay(true), Interval: time.Hour}, true, tables, 1, nil},
		{
			"lines, once", JSONLines,
			Options{Source: replay(true), Interval: 300 * time.Millisecond, Once: true},
			false, count("flow"), 3, nil,
		},
		{
			"lines of some flows", JSONLines,
			Options{Source: replay(false), Interval: time.Hour, Filter: Filter{Text: "curl"}},
			false, count("flow"),
			1, nil,
		},
		{
			"lines without events", JSONLines,
			Options{Source: replay(false), Interval: time.Hour},
			false,
			count("event"), 0, nil,
		},
		{
			"lines with events", JSONLines,
			Options{Source: replay(false), Interval: time.Hour, Events: true},
			false, count("event"), 15, nil,
		},
		{
			"a source that fails", JSONLines,
			Options{
				Source:   func(context.Context, tcp.Sink) error { return refused },
				Interval: time.Hour,
			},
			false, count("flow"), 0, refused,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if c.cancel {
				time.AfterFunc(200*time.Millisecond, cancel)
			}
			var b bytes.Buffer
			c.o.Output = &b
			c.o.Clock = fixedClock
			if err := c.run(ctx, NewTable(TableOptions{}), c.o); !errors.Is(err, c.err) {
				t.Fatalf("got error %v, want %v", err, c.err)
			}
			if got := c.count(b.String()); got != c.want {
				t.Errorf("got %d, want %d, in:\n%s", got, c.want, b.String())
			}
		})
	}
}

func TestAFullDiskEndsTheOutputAndItsSource(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, run := range []func(context.Context, *Table, Options) error{Plain, JSONLines} {
		o := Options{Source: replay(true), Interval: 50 * time.Millisecond, Output: io.Writer(full), Clock: fixedClock}
		if err := run(context.Background(), NewTable(TableOptions{}), o); err == nil ||
			!strings.Contains(err.Error(), "no space left") {
			t.Errorf("got error %v, want one that says that no space is left", err)
		}
	}
}

func TestSortKeysAreJSONNames(t *testing.T) {
	b, err := json.Marshal(&Row{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range SortKeys() {
		// A process consists of two names, and the summed rate has no field.
		if !slices.Contains([]string{"process", SortByRate}, key) && !strings.Contains(string(b), `"`+key+`":`) {
			t.Errorf("sort key %s is no name of a row", key)
		}
	}
}
