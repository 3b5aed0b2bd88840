package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"airtide/internal/recording/record"
	"airtide/internal/tcp"
	"airtide/test/bench/benchnet"
)

func TestEveryWayToLoseARecordIsCounted(t *testing.T) {
	printed, err := json.Marshal(record.Result{
		Samples: 999_970, Loss: tcp.Loss{PerCPU: []uint64{3, 4}, Orphans: 5, Missed: 20, Untracked: 9},
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := readResult(printed)
	if want := (account{records: 999_970, lost: 12, missed: 20}); err != nil || a != want {
		t.Errorf("%+v, %v, want %+v", a, err, want)
	}
	if _, err := readResult([]byte("no result")); err == nil {
		t.Error("what is no result is taken for one")
	}
}

func TestTableTellsWhatWasMissed(t *testing.T) {
	r := result{
		rate: 4e9, segments: 800_000, duration: 2 * time.Second, watched: 1_000_000, bpfRuns: 1,
		account: account{records: 999_970, lost: 12, missed: 20}, bytes: 9_999_700,
	}
	tools := []tool{{name: "nothing"}, airtideTool(settings{airtide: "airtide"}), bpftraceTool("bpftrace", "", "")}
	var b strings.Builder
	printComparison(&b, load{"load", false, benchnet.Load{}}, tools, [][]result{{{rate: 4e9}}, {r}, {r}})
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	cells := func(line string) []string { return strings.Split(line, " | ") }
	head := cells(lines[2])
	for i, want := range []map[string]string{
		{"lost": "-", "missed per million": "-", "samples per segment": "-"},
		{"lost": "12", "missed per million": "20.0 (20.0...20.0)", "samples per segment": "1.0000 (1.0000...1.0000)"},
		{"lost": "12", "missed per million": "-", "samples per segment": "1.0000 (1.0000...1.0000)"},
	} {
		row := cells(lines[4+i])
		if len(row) != len(head) {
			t.Fatalf("%d cells below %d: %s", len(row), len(head), lines[4+i])
		}
		for k, name := range head {
			if text, ok := want[name]; ok && row[k] != text {
				t.Errorf("%s, %s: %s, want %s", row[0], name, row[k], text)
			}
		}
	}
	if text := sustained(r); !strings.Contains(text, "12 records lost, 20.0 in a million never made, 1.0000 samples "+
		"per segment, 10.0 bytes") {
		t.Errorf("sustained: %s", text)
	}
}
