package trace

import (
	"hash/fnv"
	"os"
	"reflect"
	"testing"

	"airtide/internal/tcp"
)

// kernelRecording holds real samples, from Linux 6.18, per ACK: both ends of CUBIC transfers over a
// shared bottleneck, first with losses and then without; and made-up events with every part.
const kernelRecording = "testdata/kernel.atr"

// This file was written once. It pins the format: every later version must read it, to the last
// value.
func TestOldRecordingStaysReadable(t *testing.T) {
	got, damage := scan(t, kernelRecording, ScanOptions{})
	if !damage.Whole() {
		t.Errorf("damage: %s", &damage)
	}
	// The sum does not depend on the order of fields, nor on fields that the file does not have.
	var sum uint64
	for i, row := range got.rows {
		sum += uint64(row.TimeNs)*uint64(row.Flow) ^ uint64(i)
		for f := range tcp.NumStored {
			if v := row.Values[f]; v != tcp.Absent {
				name := fnv.New64a()
				name.Write([]byte(f.String()))
				sum += name.Sum64() * (uint64(v)*31 + uint64(i) + 1)
			}
		}
	}
	const wantRows, wantSum, wantFlows = 16384, uint64(2778585635319857510), 14
	if len(got.rows) != wantRows || sum != wantSum {
		t.Errorf("%d samples with the sum %d, want %d with %d", len(got.rows), sum, wantRows, wantSum)
	}
	if len(got.flows) != wantFlows || got.flows[0].String() != "flow 1 192.0.2.1:40001 > 192.0.2.2:5201" {
		t.Errorf("%d flows, the first is %s", len(got.flows), &got.flows[0])
	}
	wantEvents := everyEvent()
	for i := range wantEvents {
		wantEvents[i].Flow = 1 + wantEvents[i].Flow%3
	}
	if !reflect.DeepEqual(got.events, wantEvents) {
		t.Errorf("events:\n got %+v\nwant %+v", got.events, wantEvents)
	}
	if want := []tcp.Loss{
		{TimeNs: 1, PerCPU: []uint64{3, 4}, Untracked: 5, Orphans: 6},
	}; !reflect.DeepEqual(got.losses, want) {
		t.Errorf("losses %+v, want %+v", got.losses, want)
	}
}

func TestRealSamplesTakeAtMost24Bytes(t *testing.T) {
	info, err := os.Stat(kernelRecording)
	must(t, err)
	got, _ := scan(t, kernelRecording, ScanOptions{})
	if perSample := float64(info.Size()) / float64(len(got.rows)); perSample > 24 {
		t.Errorf("%.1f bytes per sample", perSample)
	}
}
