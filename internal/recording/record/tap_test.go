package record

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
)

// contents are the flows, events and losses of a recording.
type contents struct {
	tcp.Discard
	flows, events []tcp.FlowID
	samples       int
	loss          tcp.Loss
}

func (c *contents) Flow(f *tcp.Flow) error   { c.flows = append(c.flows, f.ID); return nil }
func (c *contents) Event(e *tcp.Event) error { c.events = append(c.events, e.Flow); return nil }
func (c *contents) Samples(b *tcp.Batch) error {
	c.samples += b.Len()
	return nil
}
func (c *contents) Lost(l *tcp.Loss) error { c.loss = *l; return nil }

func labelled(label string) trace.Metadata {
	m := trace.HostMetadata()
	m.Label = label
	return m
}

func TestATapRecordsOnlyChosenFlows(t *testing.T) {
	tap := newTap(t.TempDir(), labelled)
	both := func(ns int64) {
		b := tcp.NewBatch(2)
		for id := tcp.FlowID(1); id <= 3; id++ {
			s := tcp.Sample{Flow: id, TimeNs: ns}
			b.Append(&s)
			_ = tap.Event(&tcp.Event{Flow: id, TimeNs: ns, Kind: tcp.EventDupAck})
		}
		if err := tap.Samples(b); err != nil {
			t.Fatal(err)
		}
	}
	tap.Flow(&tcp.Flow{ID: 1, Comm: "curl"})
	tap.Flow(&tcp.Flow{ID: 2, Comm: "sshd"})
	tap.Flow(&tcp.Flow{ID: 3}) // its process is not known yet
	tap.Toggle("filter: curl", func(f *tcp.Flow) bool { return f.Comm == "curl" })
	both(10)
	tap.Flow(&tcp.Flow{ID: 3, Comm: "curl"})
	both(20)
	files, err := tap.Close()
	if len(files) != 1 || err != nil {
		t.Fatalf("closed with %q, %v", files, err)
	}
	r, err := trace.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var c contents
	if err := r.Scan(context.Background(), trace.ScanOptions{}, &c); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.events, []tcp.FlowID{1, 1, 3}) || c.samples != 3 || len(c.flows) != 2 {
		t.Errorf("recorded %+v, want the flow 1, and 3 from its description on", c)
	}
	if label := r.Metadata().Label; label != "filter: curl" {
		t.Errorf("label %q", label)
	}
}

func TestATapRecordsOnlyWhileWhileOnAndDefinesEarlierFlows(t *testing.T) {
	tap := newTap(t.TempDir(), labelled)
	at := time.Date(2026, 3, 1, 12, 0, 5, 0, time.UTC)
	tap.now = func() time.Time { return at }
	event := func(id tcp.FlowID, ns int64) {
		if err := tap.Event(&tcp.Event{Flow: id, TimeNs: ns, Kind: tcp.EventDupAck}); err != nil {
			t.Fatal(err)
		}
	}
	tap.Flow(&tcp.Flow{ID: 1})
	event(1, 10)
	tap.Lost(&tcp.Loss{TimeNs: 11, PerCPU: []uint64{3, 4}, Orphans: 2})
	tap.Toggle("", nil)
	path, on, err := tap.State()
	if filepath.Base(path) != "airtide-20260301-120005.atr" || !on || err != nil {
		t.Fatalf("state %q %t %v", path, on, err)
	}
	tap.Flow(&tcp.Flow{ID: 2})
	event(2, 20)
	tap.Lost(&tcp.Loss{TimeNs: 21, PerCPU: []uint64{3, 5}, Orphans: 2})
	tap.Toggle("", nil)
	event(1, 30)

	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info, err)
	}
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var c contents
	if err := r.Scan(context.Background(), trace.ScanOptions{}, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.flows) != 2 || len(c.events) != 1 || c.events[0] != 2 || c.loss.Total() != 1 {
		t.Errorf("recorded %+v, want flows 1 and 2, an event of 2, 1 lost", c)
	}

	tap.Toggle("", nil) // within the same second
	if _, on, err := tap.State(); on || !errors.Is(err, os.ErrExist) {
		t.Errorf("on %t, %v; want a refusal to overwrite", on, err)
	}
	at = at.Add(time.Second)
	tap.Toggle("", nil)
	files, err := tap.Close()
	if len(files) != 2 || !errors.Is(err, os.ErrExist) {
		t.Errorf("closed with %q, %v; want the refusal, although a recording succeeded after it", files, err)
	}
}
