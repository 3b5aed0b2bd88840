package capture

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"airtide/internal/view/terminal"
)

// A live table comes with each interval, and its last one has the counts of the whole capture.
func TestLiveTables(t *testing.T) {
	var out bytes.Buffer
	v := &Viewer{
		Terminal: &terminal.Terminal{Out: &out, Err: &out}, Path: "../../packets/conn/testdata/lossy.pcap.gz", Top: 20,
	}
	if err := v.Live(t.Context(), time.Nanosecond); err != nil {
		t.Fatal(err)
	}
	tables := strings.Split(strings.TrimSpace(out.String()), "\n\n")
	if len(tables) < 700 {
		t.Fatalf("%d tables for 700 segments", len(tables))
	}
	last := tables[len(tables)-1]
	if !strings.HasPrefix(last, "2 connections in") {
		t.Errorf("the last table is\n%s", last)
	}
	header := strings.Split(last, "\n")[1]
	for _, title := range []string{"RTT MS", "CLIENT MS", "SERVER MS", "RETRANS", "LATE"} {
		if !strings.Contains(header, title) {
			t.Errorf("the header %q lacks %s", header, title)
		}
	}
	// The whole analysis prints the same counts of late segments.
	out.Reset()
	if err := v.Text(t.Context()); err != nil {
		t.Fatal(err)
	}
	column := func(text, title string) (values []string) {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		for len(lines) > 0 && !strings.HasPrefix(lines[0], "#") {
			lines = lines[1:]
		}
		end := strings.Index(lines[0], title) + len(title)
		for _, line := range lines[1:] {
			fields := strings.Fields(line[:min(len(line), end)])
			values = append(values, fields[len(fields)-1])
		}
		return values
	}
	for _, title := range []string{"RETRANS", "LATE"} {
		got := column(last, title)
		want := column(out.String(), title)
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: live %v, whole %v", title, got, want)
		}
	}
}
