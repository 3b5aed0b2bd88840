package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

func TestFileHasNoColourAndNoWidthUnlessColumnsSetsOne(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for columns, want := range map[string]int{"": 0, "100": 100, "-3": 0, "many": 0} {
		env := map[string]string{"COLUMNS": columns, "TERM": "xterm"}
		term := New(f, f, func(name string) string { return env[name] })
		if term.Width != want || term.Colour || term.Screen || term.Live {
			t.Errorf("COLUMNS=%s: %+v, want width %d and neither colour nor cursor", columns, term, want)
		}
	}
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	term := &Terminal{Out: &out}
	value := map[string]int{"flows": 1}
	if err := term.JSON(value); err != nil || out.String() != "{\n  \"flows\": 1\n}\n" {
		t.Errorf("JSON prints %q: %v", out.String(), err)
	}
	out.Reset()
	if err := term.JSONLine(value); err != nil || out.String() != "{\"flows\":1}\n" {
		t.Errorf("JSONLine prints %q: %v", out.String(), err)
	}
}

func TestWarningMakesTheStatusLineGiveWay(t *testing.T) {
	var err bytes.Buffer
	term := &Terminal{Err: &err, Live: true, errWidth: func() int { return 24 }}
	term.SetStatus("run %d of 4 of quickstart", 1)
	term.Warnf("late by %d ms", 3)
	term.ClearStatus()
	if want := "\r\x1b[Krun 1 of 4 of quicksta…\r\x1b[Kairtide: late by 3 ms\n"; err.String() != want {
		t.Errorf("%q, want %q", err.String(), want)
	}
}

func TestNotesAndResultsAreBrokenBetweenWords(t *testing.T) {
	var out, err bytes.Buffer
	term := &Terminal{Out: &out, Err: &err, Width: 12, errWidth: func() int { return 20 }}
	term.Warnf("no cell runs here: start one\nor wait")
	if want := "airtide: no cell\n  runs here: start\n  one\nor wait\n"; err.String() != want {
		t.Errorf("a warning is %q, want %q", err.String(), want)
	}
	if e := term.Printf("%s is unloaded\n", "cubic"); e != nil || out.String() != "cubic is\n  unloaded\n" {
		t.Errorf("a result is %q, %v", out.String(), e)
	}
}

func TestHelpIsFilledAndContinuedBelowItsLastColumn(t *testing.T) {
	text := `Shows the state of each agent on this machine, in any network namespace: the terminals in contact,
and the rates that they reach alone.

Usage:
  airtide share status [flags]

Flags:
  -i, --interval duration   time between two updates of --watch, which
  -w, --watch               update until Ctrl-C
  airtide share run --key k        share an access point with others
`
	want := `Shows the state of each agent on this machine, in any
network namespace: the terminals in contact, and the rates
that they reach alone.

Usage:
  airtide share status [flags]

Flags:
  -i, --interval duration   time between two updates of
                            --watch, which
  -w, --watch               update until Ctrl-C
  airtide share run --key k        share an access point
                                   with others
`
	if got := WrapHelp(text, 60); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := WrapHelp(text, 0); got != text {
		t.Errorf("without a limit:\n%s", got)
	}
	for width := 10; width < 120; width++ {
		for line := range strings.Lines(WrapHelp(text, width)) {
			if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("width %d: a line of %d columns: %q", width, n, line)
			}
		}
	}
}

func TestPipeShowsNoStatus(t *testing.T) {
	var err bytes.Buffer
	term := &Terminal{Err: &err}
	term.SetStatus("half done")
	worked := false
	text := func() string { return "working" }
	if e := term.Wait(time.Time{}, text, func() error { worked = true; return nil }); e != nil || !worked {
		t.Errorf("the work was done: %t, %v", worked, e)
	}
	if err.Len() > 0 {
		t.Errorf("a pipe shows %q", err.String())
	}
}

func TestLongWorkIsReported(t *testing.T) {
	var err bytes.Buffer
	term := &Terminal{Err: &err, Live: true}
	asked := make(chan bool)
	text := func() string { close(asked); return "reading" }
	begun := time.Now().Add(-quiet)
	if e := term.Wait(begun, text, func() error { <-asked; return nil }); e != nil {
		t.Fatal(e)
	}
	if want := "\r\x1b[Kreading\r\x1b[K"; err.String() != want {
		t.Errorf("%q, want %q", err.String(), want)
	}
}

func listing() *Table {
	list := &Table{Columns: []Column{
		{Title: "NAME"},
		{Title: "RATE\nMbit/s", Right: true},
		{Title: "TITLE", Least: 8},
		{Title: "SOURCE", Optional: 1},
	}}
	list.Add("uplink", "94.2", "Uploads of four terminals", "Matsuno et al. 2021")
	list.Add("down", "8", "テスト")
	return list
}

func TestTableAlignsTitlesAndCells(t *testing.T) {
	var b bytes.Buffer
	if err := listing().Write(&b, 0, false); err != nil {
		t.Fatal(err)
	}
	want := `NAME      RATE  TITLE                      SOURCE
        Mbit/s
uplink    94.2  Uploads of four terminals  Matsuno et al. 2021
down         8  テスト
`
	if b.String() != want {
		t.Errorf("\n%s\nwant\n%s", b.String(), want)
	}
}

func TestTableFitsTheWidth(t *testing.T) {
	for width := 24; width < 80; width++ {
		var b bytes.Buffer
		if err := listing().Write(&b, width, true); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("width %d: a line of %d columns:\n%s", width, n, b.String())
			}
		}
		if whole := strings.Contains(b.String(), "Matsuno"); whole != (width >= 45) {
			t.Errorf("width %d shows the optional column: %t", width, whole)
		}
	}
}

func TestTableWithoutTitlesHasNoHead(t *testing.T) {
	list := &Table{Columns: []Column{{}, {Right: true}}, Indent: "  "}
	list.Add("total", "87")
	var b bytes.Buffer
	if err := list.Write(&b, 0, true); err != nil || b.String() != "  total  87\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestLongLinesAreBrokenBetweenWords(t *testing.T) {
	for width, want := range map[int]string{
		0:  "flows  14 open, 0 closed\nacked  8\n",
		24: "flows  14 open, 0 closed\nacked  8\n",
		16: "flows  14 open,\n    0 closed\nacked  8\n",
		8:  "flows\n  14\n  open,\n  0\n  closed\nacked  8\n",
	} {
		var b bytes.Buffer
		term := &Terminal{Out: &b, Width: width}
		if err := term.PrintWrapped("flows  14 open, 0 closed\nacked  8\n", 7); err != nil || b.String() != want {
			t.Errorf("width %d: %q, want %q (%v)", width, b.String(), want, err)
		}
	}
}

func TestColourCountsNoColumns(t *testing.T) {
	text := "\x1b[33mlost records\x1b[0m 13 of flows"
	if got, want := Wrap(text, 16, 2), "\x1b[33mlost records\x1b[0m 13\n  of flows"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for width := 1; width < 30; width++ {
		for line := range strings.Lines(Wrap(text+" テスト averyveryverylongword", width, 4)) {
			if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > max(width, 2) {
				t.Errorf("width %d: a line of %d columns: %q", width, n, line)
			}
		}
	}
}

func TestNothingThatATerminalCouldObeyIsPrinted(t *testing.T) {
	var out, err strings.Builder
	term := &Terminal{Out: &out, Err: &err, Live: true}
	hostile := "evil\x1b]0;title\a\x1b[2J\u009b5m\rname"
	term.Warnf("reading %s", hostile)
	term.SetStatus("reading %s", hostile)
	term.ClearStatus()
	table := &Table{Columns: []Column{{Title: "NAME"}}}
	table.Add(hostile + "\nsecond line")
	if e := term.Table(table); e != nil {
		t.Fatal(e)
	}
	shown := strings.ReplaceAll(out.String()+err.String(), eraseLine, "")
	if i := strings.IndexFunc(shown, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }); i >= 0 {
		t.Errorf("%q has a control character at %d", shown, i)
	}
	if out.String() != "NAME\nevil?]0;title??[2J?5m?name second line\n" {
		t.Errorf("the table is %q", out.String())
	}
}

// Addresses are cut before a column is left out. Ports are never cut.
func TestTablesCutAddressesAndNeverPorts(t *testing.T) {
	table := &Table{Columns: []Column{
		{Title: "ENDS", Least: LeastEndpoint, Endpoint: true},
		{Title: "SECONDS", Optional: 1},
		{Title: "LIMITED BY"},
	}}
	table.Add("[2001:db8:1:2:3:4:5:6]:57344", "12.3", "cwnd")
	table.Add("10.1.0.1:443", "12.3", "cwnd")
	for width, want := range map[int]string{
		0:  "ENDS                          SECONDS  LIMITED BY\n[2001:db8:1:2:3:4:5:6]:57344  12.3     cwnd\n",
		40: "ENDS                 SECONDS  LIMITED BY\n[2001:db8:1:…:57344  12.3     cwnd\n",
		30: "ENDS                LIMITED BY\n[2001:db8:1…:57344  cwnd\n",
		23: "ENDS         LIMITED BY\n[200…:57344  cwnd\n10.1.0…:443  cwnd\n",
	} {
		var out bytes.Buffer
		if err := table.Write(&out, width, false); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("on %d columns:\n%s\nwant\n%s", width, &out, want)
		}
	}
}
