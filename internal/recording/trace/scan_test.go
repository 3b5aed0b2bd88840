package trace

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"airtide/internal/tcp"
)

// recorded records samples and events and returns the file.
func recorded(t testing.TB, b *tcp.Batch, events []tcp.Event) (path string, want *kept) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.atr")
	w := create(t, path)
	want = &kept{}
	both := tcp.Tee{w, want}
	for id := range slices.Max(b.Flow) {
		must(t, both.Flow(flowNumber(id+1)))
	}
	must(t, both.Samples(b))
	for i := range events {
		must(t, both.Event(&events[i]))
	}
	must(t, w.Close())
	return path, want
}

func TestProjectionDecodesTheWantedFieldsOnly(t *testing.T) {
	path, want := recorded(t, transfers(3*MaxBlockRows, 3, 1), nil)
	for _, fields := range [][]tcp.Field{
		{},
		{tcp.CwndPackets},
		{tcp.AckedBytes}, // coded by reference to a field that is not wanted
		{tcp.SendWindowBytes, tcp.BBRMode, tcp.SsthreshPackets, tcp.AckBytes},
	} {
		got, damage := scan(t, path, ScanOptions{Fields: fields})
		if !damage.Whole() {
			t.Errorf("%v: %s", fields, &damage)
		}
		only := kept{rows: slices.Clone(want.rows)}
		for i := range only.rows {
			v := &only.rows[i].Values
			for f := range tcp.NumStored {
				if !slices.Contains(fields, f) {
					v[f] = tcp.Absent
				}
			}
			only.rows[i].Compute()
		}
		sameRows(t, got, &only)
	}
}

func TestComputedFieldsBringWhatTheyAreMadeFrom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	b := tcp.NewBatch(500)
	b.Resize(500)
	for i := range b.TimeNs {
		b.TimeNs[i] = int64(i)
		b.Flow[i] = 1
		for f := range b.Cols {
			b.Cols[f][i] = rng.Int64N(5)
		}
	}
	path, want := recorded(t, b, nil)
	for f := tcp.NumStored; int(f) < tcp.NumFields; f++ {
		got, _ := scan(t, path, ScanOptions{Fields: []tcp.Field{f}})
		for i := range got.rows {
			if g, w := got.rows[i].Values[f], want.rows[i].Values[f]; g != w {
				t.Errorf("%s of row %d: %d, want %d: computedFrom misses a field", f, i, g, w)
				break
			}
		}
	}
}

func TestScanOfSomeFlowsAndTimes(t *testing.T) {
	b := transfers(3*MaxBlockRows, 5, 1)
	var events []tcp.Event
	for i := 0; i < b.Len(); i += 1000 {
		events = append(events, tcp.Event{TimeNs: b.TimeNs[i], Flow: b.Flow[i], Kind: tcp.EventSack})
	}
	path, all := recorded(t, b, events)
	middle := b.TimeNs[b.Len()/3]
	later := b.TimeNs[b.Len()/2]
	for name, o := range map[string]ScanOptions{
		"one flow":        {Flows: []tcp.FlowID{2}},
		"two flows":       {Flows: []tcp.FlowID{1, 5}},
		"no flow":         {Flows: []tcp.FlowID{}},
		"another flow":    {Flows: []tcp.FlowID{99}},
		"from":            {FromNs: middle},
		"to":              {ToNs: middle},
		"between":         {FromNs: middle, ToNs: later},
		"nothing between": {FromNs: 1, ToNs: 2},
		"flow and time":   {Flows: []tcp.FlowID{3, 4}, FromNs: middle, ToNs: later},
		"flow, time, fields": {
			Flows: []tcp.FlowID{3}, FromNs: middle, Fields: []tcp.Field{tcp.AckedBytes, tcp.AckBytes},
		},
	} {
		var want kept
		chosen := func(id tcp.FlowID, ns int64) bool {
			return (o.Flows == nil || slices.Contains(o.Flows, id)) && ns >= o.FromNs && (o.ToNs == 0 || ns < o.ToNs)
		}
		for _, f := range all.flows {
			if chosen(f.ID, o.FromNs) {
				want.flows = append(want.flows, f)
			}
		}
		for _, row := range all.rows {
			if !chosen(row.Flow, row.TimeNs) {
				continue
			}
			for f := range tcp.NumStored {
				if o.Fields != nil && !slices.Contains(o.Fields, f) {
					row.Values[f] = tcp.Absent
				}
			}
			row.Compute()
			want.rows = append(want.rows, row)
		}
		for _, e := range all.events {
			if chosen(e.Flow, e.TimeNs) {
				want.events = append(want.events, e)
			}
		}
		t.Run(name, func(t *testing.T) {
			got, damage := scan(t, path, o)
			if !damage.Whole() {
				t.Errorf("damage: %s", &damage)
			}
			sameRows(t, got, &want)
			sameRest(t, got, &want)
		})
	}
}

// failing is a sink that fails at a call.
type failing struct {
	tcp.Discard
	at  string
	err error
}

func (f failing) Flow(*tcp.Flow) error     { return f.when("flow") }
func (f failing) Samples(*tcp.Batch) error { return f.when("samples") }
func (f failing) Event(*tcp.Event) error   { return f.when("event") }

func (f failing) when(call string) error {
	if f.at == call {
		return f.err
	}
	return nil
}

func TestErrorOfTheSinkEndsTheScan(t *testing.T) {
	b := transfers(10, 1, 1)
	path, _ := recorded(t, b, []tcp.Event{{TimeNs: b.TimeNs[0], Flow: 1}})
	r, err := Open(path)
	must(t, err)
	defer r.Close()
	for _, at := range []string{"flow", "samples", "event"} {
		want := errors.New("full")
		if err := r.Scan(context.Background(), ScanOptions{}, failing{at: at, err: want}); !errors.Is(err, want) {
			t.Errorf("error at %s: %v", at, err)
		}
		if d := r.Damage(); d.SkippedBytes > 0 {
			t.Errorf("an error of the sink counts as damage: %s", &d)
		}
	}
}

func TestTotalsNeedAnEnd(t *testing.T) {
	b := transfers(10*MaxBlockRows, 2, 1)
	path, _ := recorded(t, b, nil)
	r, err := Open(path)
	must(t, err)
	defer r.Close()
	totals, ok := r.Totals()
	if !ok || totals.Samples != uint64(b.Len()) || totals.FirstNs != slices.Min(b.TimeNs) ||
		totals.LastNs != slices.Max(b.TimeNs) {
		t.Errorf("totals %+v, %v", totals, ok)
	}
	open := filepath.Join(t.TempDir(), "y.atr")
	w := create(t, open)
	must(t, w.Samples(b))
	r, err = Open(open)
	must(t, err)
	defer r.Close()
	if totals, ok := r.Totals(); ok {
		t.Errorf("totals %+v without an end", totals)
	}
	must(t, w.Close())
}

// A stream has no beginning to go back to, and may break off anywhere.
func TestAStreamIsReadUpToItsCut(t *testing.T) {
	var stream bytes.Buffer
	w, err := Stream("stream", &stream, HostMetadata())
	must(t, err)
	must(t, w.Flow(flowNumber(1)))
	for n := range 3 {
		b := transfers(MaxBlockRows, 1, uint64(n))
		must(t, w.Samples(b))
	}
	must(t, w.Close())
	rows := 0
	for cut := range stream.Len() + 1 {
		if cut%(stream.Len()/30) != 0 && cut != stream.Len() {
			continue
		}
		r, err := OpenStream(t.Context(), "stream", bytes.NewReader(stream.Bytes()[:cut]))
		if errors.Is(err, ErrEmpty) && rows == 0 {
			continue // cut within the header
		}
		must(t, err)
		var k kept
		must(t, r.Scan(t.Context(), ScanOptions{}, &k))
		r.Close()
		if len(k.rows) < rows {
			t.Fatalf("%d bytes hold %d samples, fewer have held %d", cut, len(k.rows), rows)
		}
		rows = len(k.rows)
	}
	if rows != 3*MaxBlockRows {
		t.Errorf("the whole stream holds %d samples, want %d", rows, 3*MaxBlockRows)
	}
}
