package trace

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

// The bytes in docs/reference/recording.md hold the samples that it names.
func TestExampleOfTheSpecification(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/recording.md")
	must(t, err)
	_, after, _ := strings.Cut(string(text), "```\n")
	dump, _, _ := strings.Cut(after, "```")
	block, err := hex.DecodeString(strings.Join(strings.Fields(dump), ""))
	must(t, err)

	d := description{Columns: []column{
		{ID: 0, Name: "time_ns"},
		{ID: 1, Name: "flow"},
		{ID: 8, Name: "cwnd_packets"},
		{ID: 9, Name: "ssthresh_packets"},
		{ID: 16, Name: "mss_bytes"},
	}}
	description, err := d.payload()
	must(t, err)
	file := compress(make([]byte, headerLen), description)
	h := newHeader(blockHeader)
	h.put(file)
	got, r, err := scanBytes(append(file, block...), ScanOptions{})
	must(t, err)
	if damage := r.Damage(); damage.SkippedBytes > 0 || damage.TailBytes > 0 {
		t.Errorf("damage: %s", &damage)
	}

	var want kept
	for i := range 4 {
		row := tcp.Sample{TimeNs: []int64{1_000_000, 1_000_020, 1_000_045, 1_000_060}[i], Flow: 1}
		for f := range tcp.NumStored {
			row.Values[f] = tcp.Absent
		}
		row.Values[tcp.CwndPackets] = []int64{10, 10, 11, 12}[i]
		row.Values[tcp.SsthreshPackets] = []int64{tcp.Absent, tcp.Absent, 7, 7}[i]
		row.Values[tcp.MSSBytes] = 1448
		row.Compute()
		want.rows = append(want.rows, row)
	}
	sameRows(t, got, &want)
}
