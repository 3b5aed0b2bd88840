//go:build tools

package trace

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"airtide/internal/tcp"
	"airtide/test/need"
)

// columnTotal is the output of testdata/reader.py for a column.
type columnTotal struct {
	Count         int
	Sum, Weighted uint64
}

// otherEvent is an event as testdata/reader.py prints it.
type otherEvent struct {
	TimeNs     int64 `json:"time_ns"`
	Flow       tcp.FlowID
	Kind       tcp.EventKind
	Code       tcp.ErrorCode
	CAState    tcp.CAState `json:"ca_state"`
	Cwnd       uint32
	Ssthresh   uint32
	InFlight   uint32 `json:"in_flight"`
	Cause      tcp.Cause
	Reason     tcp.Reason
	From, To   uint8
	Seq        int64
	EndSeq     int64 `json:"end_seq"`
	Value      int64
	Blocks     [][2]int64
	Text       string // hexadecimal
	CPU        uint16
	FromSample bool `json:"from_sample"`
}

// otherReading is all that testdata/reader.py prints.
type otherReading struct {
	Samples int
	Columns map[string]columnTotal
	Events  []otherEvent
	Flows   []tcp.Flow
	Losses  []tcp.Loss
	Radio   []tcp.Radio
	End     map[string]any
}

// sumsUp reads a file by this package, and returns the values that testdata/reader.py prints.
func sumsUp(t *testing.T, path string) otherReading {
	t.Helper()
	got, damage := scan(t, path, ScanOptions{})
	if !damage.Whole() {
		t.Fatalf("damage: %s", &damage)
	}
	r := otherReading{Samples: len(got.rows), Columns: map[string]columnTotal{}, Flows: got.flows, Losses: got.losses}
	add := func(name string, row int, v int64) {
		c := r.Columns[name]
		if v != tcp.Absent {
			c.Count++
			c.Sum += uint64(v)
			c.Weighted += uint64(row+1) * uint64(v)
		}
		r.Columns[name] = c
	}
	for i := range got.rows {
		row := &got.rows[i]
		add(timeName, i, row.TimeNs)
		add(flowName, i, int64(row.Flow))
		for f := range tcp.NumStored {
			add(f.String(), i, row.Values[f])
		}
	}
	for i := range got.events {
		e := &got.events[i]
		other := otherEvent{
			TimeNs: e.TimeNs, Flow: e.Flow, Kind: e.Kind, Code: e.Code, CAState: e.CAState, Cwnd: e.CwndPackets,
			Ssthresh: e.SsthreshPackets, InFlight: e.InFlightPackets, Cause: e.Cause, Reason: e.Reason,
			From: e.From, To: e.To,
			Seq: e.Seq, EndSeq: e.EndSeq, Value: e.Value, Blocks: [][2]int64{},
			Text: hex.EncodeToString([]byte(e.Text)),
			CPU:  e.CPU, FromSample: e.FromSample,
		}
		for _, b := range e.Blocks[:e.NumBlocks] {
			other.Blocks = append(other.Blocks, [2]int64{b.Start, b.End})
		}
		r.Events = append(r.Events, other)
	}
	return r
}

// readByOther reads a file with testdata/reader.py, which knows docs/reference/recording.md and
// nothing of this package.
func readByOther(t *testing.T, path string) (r otherReading) {
	t.Helper()
	python := need.Tool(t, "python3")
	cmd := exec.Command(python, filepath.Join("testdata", "reader.py"), path)
	out, err := cmd.Output()
	if failed, ok := err.(*exec.ExitError); ok {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, failed.Stderr)
	}
	must(t, err)
	must(t, json.Unmarshal(out, &r))
	return r
}

// The description of the format is enough to write another reader.
func TestAnotherReaderReadsTheSame(t *testing.T) {
	t.Parallel()
	got := readByOther(t, kernelRecording)
	want := sumsUp(t, kernelRecording)
	if got.Samples != want.Samples || got.End["samples"] != float64(want.Samples) ||
		got.End["events"] != float64(len(want.Events)) {
		t.Errorf("%d samples, and the end block says %v; want %d and %d events", got.Samples, got.End, want.Samples,
			len(want.Events))
	}
	varied := 0
	for name, c := range want.Columns {
		if other, there := got.Columns[name]; other != c {
			// A field may be younger than the file, and then has no values.
			if there || c.Count > 0 {
				t.Errorf("%s: %+v, want %+v", name, other, c)
			}
		}
		if c.Count > 0 && c.Count < want.Samples {
			varied++
		}
	}
	if varied == 0 {
		t.Error("no column has both rows that are absent and rows that are not, so this test shows too little")
	}
	for name := range got.Columns {
		if _, known := want.Columns[name]; !known {
			t.Errorf("%s is a column that this package does not know", name)
		}
	}
	if !reflect.DeepEqual(got.Events, want.Events) {
		t.Errorf("events:\n got %+v\nwant %+v", got.Events, want.Events)
	}
	if !reflect.DeepEqual(got.Flows, want.Flows) {
		t.Errorf("flows:\n got %+v\nwant %+v", got.Flows, want.Flows)
	}
	if !reflect.DeepEqual(got.Losses, want.Losses) {
		t.Errorf("losses %+v, want %+v", got.Losses, want.Losses)
	}
}

func TestAnotherReaderReadsTheRadio(t *testing.T) {
	t.Parallel()
	file, want := smallRecording(t)
	path := filepath.Join(t.TempDir(), "radio.atr")
	must(t, os.WriteFile(path, file, 0o600))
	if got := readByOther(t, path); len(got.Radio) == 0 || !reflect.DeepEqual(got.Radio, want.radio) {
		t.Errorf("records about radios:\n got %+v\nwant %+v", got.Radio, want.radio)
	}
}
