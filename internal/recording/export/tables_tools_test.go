//go:build tools

package export

import (
	"path/filepath"
	"slices"
	"testing"

	"airtide/internal/tcp"
)

// columnFacts are the count, sum, least and greatest of a column.
type columnFacts [4]int64

func (f *columnFacts) add(v int64) {
	if f[0] == 0 || v < f[2] {
		f[2] = v
	}
	if f[0] == 0 || v > f[3] {
		f[3] = v
	}
	f[0]++
	f[1] += v
}

// expectedFacts works the facts out from the synthetic recording itself.
func expectedFacts(samples int) map[string]*columnFacts {
	facts := map[string]*columnFacts{"flow": {}, "time_ns": {}, "time": {}}
	for f := range tcp.Field(tcp.NumFields) {
		facts[f.String()] = &columnFacts{}
	}
	var s tcp.Sample
	b := tcp.NewBatch(1000)
	for first := 0; first < samples; first += 1000 {
		fillBatch(b, first, min(1000, samples-first), 3)
		for i := range b.Len() {
			b.Row(i, &s)
			facts["flow"].add(int64(s.Flow))
			facts["time_ns"].add(s.TimeNs)
			facts["time"].add(s.TimeNs - testMeta.ClockMonotonicNs + testMeta.ClockWallNs)
			for f, v := range s.Values {
				if v != tcp.Absent {
					facts[tcp.Field(f).String()].add(v)
				}
			}
		}
	}
	facts["time_ns"][1] = 0
	facts["time"][1] = 0
	return facts
}

// tablesSeen is the output of testdata/read_tables.py.
type tablesSeen struct {
	Samples   map[string]map[string]columnFacts `json:"samples"`
	RowGroups int                               `json:"row_groups"`
	Columns   []string                          `json:"columns"`
	TimeType  string                            `json:"time_type"`
	Metadata  map[string]string                 `json:"metadata"`
	Events    map[string][]map[string]any       `json:"events"`
	Flows     map[string][]map[string]any       `json:"flows"`
	Joined    [][2]any                          `json:"joined"`
}

func TestPandasDuckDBAndArrowReadTheSameAsWasWritten(t *testing.T) {
	const samples = 40_000 // several stages
	dir := t.TempDir()
	parquetPath := filepath.Join(dir, "x.parquet")
	csvPath := filepath.Join(dir, "x.csv")
	jsonPath := filepath.Join(dir, "x.jsonl")
	x, err := New(Parquet, parquetPath, testMeta, Options{})
	if err != nil {
		t.Fatal(err)
	}
	x.encoder.(*parquetTables).samples.rowGroupRows = stageRows // several row groups
	if err := play(x, samples); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	exportTo(t, CSV, csvPath, samples, Options{})
	exportTo(t, JSONLines, jsonPath, samples, Options{})
	var seen tablesSeen
	runPython(t, &seen, "read_tables.py", parquetPath, csvPath, jsonPath)

	want := expectedFacts(samples)
	for reader, columns := range seen.Samples {
		t.Run(reader, func(t *testing.T) {
			for name, facts := range want {
				got, ok := columns[name]
				if reader == "jsonl in python" && facts[0] == 0 {
					if ok {
						t.Errorf("%s: JSON lines hold a column that is nowhere present", name)
					}
					continue
				}
				if !ok || got != *facts {
					t.Errorf("%s: count, sum, least, greatest = %v, want %v", name, got, *facts)
				}
			}
			if len(columns) > len(want) {
				t.Errorf("%d columns, want %d", len(columns), len(want))
			}
		})
	}
	if len(seen.Samples) != 6 {
		t.Errorf("%d readers looked at the samples, want 6", len(seen.Samples))
	}
	if seen.RowGroups != 3 {
		t.Errorf("%d row groups, want 3", seen.RowGroups)
	}
	if !slices.Equal(seen.Columns[:4], []string{"flow", "time_ns", "time", "ack_bytes"}) ||
		len(seen.Columns) != 3+tcp.NumFields {
		t.Errorf("columns are not in the order of the fields: %v", seen.Columns)
	}
	if seen.TimeType != "timestamp[ns, tz=UTC]" {
		t.Errorf("time has the type %s", seen.TimeType)
	}
	if seen.Metadata["airtide.host"] != "terminal" || seen.Metadata["airtide.source"] != "bpf" {
		t.Errorf("metadata of the file: %v", seen.Metadata)
	}
	t.Run("flows", func(t *testing.T) { checkFlows(t, &seen) })
	t.Run("events", func(t *testing.T) { checkEvents(t, &seen) })
}

func checkFlows(t *testing.T, seen *tablesSeen) {
	for format, flows := range seen.Flows {
		if len(flows) != 3 {
			t.Fatalf("%s: %d flows, want 3", format, len(flows))
		}
		for _, c := range []struct {
			row    int
			column string
			want   any
		}{
			{0, "flow", 1.0},
			{0, "local", "10.0.0.1:40000"},
			{0, "remote_address", "10.0.0.2"},
			{0, "remote_port", 5201.0},
			{0, "pid", 4711.0},
			{0, "cgroup", "/user.slice"},
			{0, "netns", 4026531840.0},
			{0, "congestion_control", "cubic"},
			{1, "local", "10.0.0.1:40001"}, // v4-mapped, shortened
			{1, "inherited", true},
			{1, "netns", nil}, // unknown is not zero
			{2, "local_address", "2001:db8::1"},
			{2, "comm", "sshd"}, // the last announcement counts
			{2, "congestion_control", nil},
		} {
			if got := flows[c.row][c.column]; got != c.want {
				t.Errorf("%s: %s of flow %d is %v, want %v", format, c.column, c.row+1, got, c.want)
			}
		}
	}
	if want := [][2]any{{"iperf3", 26667.0}, {"sshd", 13333.0}}; !slices.Equal(seen.Joined, want) {
		t.Errorf("samples joined with flows by process: %v, want %v", seen.Joined, want)
	}
}

func checkEvents(t *testing.T, seen *tablesSeen) {
	for format, events := range seen.Events {
		if len(events) != 9 { // the seven events, and the two times that the lost count grew
			t.Fatalf("%s: %d events, want 9", format, len(events))
		}
		for _, c := range []struct {
			row    int
			column string
			want   any
		}{
			{0, "kind", "open"},
			{0, "from_state", "syn_sent"},
			{0, "to_state", "established"},
			{0, "ssthresh_packets", nil}, // infinite
			{0, "code", 0.0},
			{0, "code_name", nil},
			{0, "seq_bytes", nil},
			{1, "code", 3.0},
			{1, "code_name", "dup_ack"},
			{1, "blocks", "1448-2896 4344-5792"},
			{1, "ca_state", "disorder"},
			{1, "cpu", 3.0},
			{1, "from_sample", true},
			{2, "cause", "fast"},
			{2, "seq_bytes", 0.0}, // a retransmission of the first byte has a sequence number, and it is zero
			{2, "end_seq_bytes", 1448.0},
			{3, "value", 204000.0},
			{4, "from_state", "open"},
			{4, "to_state", "loss"},
			{5, "text", `quo"te, and comma`},
			{6, "reason", "local_fin"},
			{7, "kind", "lost"},
			{7, "value", 2.0},
			{7, "flow", nil},
			{8, "value", 7.0},
		} {
			if got := events[c.row][c.column]; got != c.want {
				t.Errorf("%s: %s of event %d is %v, want %v", format, c.column, c.row, got, c.want)
			}
		}
	}
}
