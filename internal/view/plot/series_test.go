package plot

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"airtide/internal/tcp"
)

// projected drops every field that a figure does not ask for, as a reader of a recording does.
type projected struct {
	*Series
	fields []tcp.Field
}

func (p projected) Samples(b *tcp.Batch) error {
	few := tcp.NewBatch(b.Len())
	few.Resize(b.Len())
	copy(few.TimeNs, b.TimeNs)
	copy(few.Flow, b.Flow)
	for f := range few.Cols {
		for i := range few.Cols[f] {
			few.Cols[f][i] = tcp.Absent
			if slices.Contains(p.fields, tcp.Field(f)) {
				few.Cols[f][i] = b.Cols[f][i]
			}
		}
	}
	return p.Series.Samples(few)
}

// Fields names everything that a figure needs: with only those fields it is the same picture.
func TestFieldsSuffice(t *testing.T) {
	for _, kind := range Kinds() {
		for _, f := range kind.Fields() {
			if f >= tcp.NumStored {
				t.Errorf("%s asks for %d, which no recording stores", kind, f)
			}
		}
		flow := upload
		flow.bbr = kind == BBR
		whole := NewSeries([]Kind{kind}, nil, Options{OriginNs: origin})
		flow.play(t, whole)
		part := NewSeries([]Kind{kind}, nil, Options{OriginNs: origin})
		flow.play(t, projected{part, kind.Fields()})
		var a, b bytes.Buffer
		if err := Draw(&a, "svg", kind, whole.Flows(), Options{}); err != nil {
			t.Fatal(err)
		}
		if err := Draw(&b, "svg", kind, part.Flows(), Options{}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s differs when only its fields are read", kind)
		}
	}
}

func TestSeriesKeepsOnlyChosenFlows(t *testing.T) {
	s := NewSeries([]Kind{RTT}, []tcp.FlowID{2}, Options{OriginNs: origin})
	for id := range tcp.FlowID(4) {
		synthetic{id: id, end: 0.5, mbit: 5, rttMs: 20, buffer: 10}.play(t, s)
	}
	if flows := s.Flows(); len(flows) != 1 || flows[0].Flow.ID != 2 || flows[0].Samples == 0 {
		t.Errorf("kept %d flows, want flow 2 alone with its samples", len(flows))
	}
}

// A figure of a part of the recording starts with the values that held then, and counts only
// events in that part.
func TestBounds(t *testing.T) {
	o := Options{From: 5050 * time.Millisecond, To: 5950 * time.Millisecond}
	var events []tcp.Event
	for i := range 20 {
		events = append(events, tcp.Event{TimeNs: origin + int64(i)*1e9, Kind: tcp.EventTimeout, Code: tcp.CodeTimeout},
			tcp.Event{TimeNs: origin + int64(i)*1e9 + 5e8, Kind: tcp.EventReordering, Code: tcp.CodeReordering})
	}
	flows := byHand(t, []Kind{Cwnd}, o, func(i int, s *tcp.Sample) { s.Values[tcp.CwndPackets] = int64(i) }, events...)
	f := flows[0]
	if f.Samples != 9 || f.Events != 1 {
		t.Errorf("%d samples and %d events lie within, want 9 and 1", f.Samples, f.Events)
	}
	from := origin + int64(o.From)
	to := origin + int64(o.To)
	if b := f.curve(tcp.CwndPackets).between(from, to); len(b) != 10 || b[0].t0 != from || b[0].first != 50 {
		t.Errorf("the curve starts with %+v, want the 50 that was held at the start", b[0])
	}
	picture := drawSVG(t, Cwnd, flows, o)
	if !picture.Has("code 1: reordering (1)") || !picture.Has("5.1") {
		t.Errorf("want one reordering and an axis from 5.05 s: %s", picture.All())
	}

	// Between two samples nothing changes, but the value is there.
	o = Options{From: 5010 * time.Millisecond, To: 5090 * time.Millisecond}
	flows = byHand(t, []Kind{Cwnd}, o, func(i int, s *tcp.Sample) { s.Values[tcp.CwndPackets] = int64(i) })
	lo, hi, ok := flows[0].curve(tcp.CwndPackets).extremes(origin+int64(o.From), origin+int64(o.To))
	if !ok || lo != 50 || hi != 50 {
		t.Errorf("between two samples the curve is %d..%d, %v; want the held 50", lo, hi, ok)
	}
	drawSVG(t, Cwnd, flows, o).CheckLayout(t)
}

// Goodput is bytes over time, also in the windows at the ends, which are shorter.
func TestGoodput(t *testing.T) {
	for _, window := range []time.Duration{
		0, 300 * time.Millisecond, time.Second, 1234567 * time.Microsecond, 7 * time.Second, time.Hour,
	} {
		flows := byHand(t, []Kind{Rates}, Options{}, func(i int, s *tcp.Sample) {
			s.Values[tcp.AckedBytes] = int64(i) * 125_000 // 10 Mbit/s
			s.Values[tcp.ReceivedBytes] = 0
		})
		v := view{
			FlowSeries: flows[0], o: Options{Window: window}, origin: origin, from: origin, to: origin + 199e8,
		}
		lo, hi, ok := v.goodput(tcp.AckedBytes).extremes(origin, origin+20e9)
		if !ok {
			t.Fatal("no goodput")
		}
		if math.Abs(float64(lo)-10e6) > 1 || math.Abs(float64(hi)-10e6) > 1 {
			t.Errorf("window %v: %d to %d bit/s, want 10 Mbit/s", window, lo, hi)
		}
	}
}

// Memory stays bounded when many flows have many samples each.
func TestSeriesBoundsItsMemory(t *testing.T) {
	s := NewSeries([]Kind{Overview}, nil, Options{OriginNs: origin})
	b := tcp.NewBatch(1000)
	b.Resize(1000)
	now := origin
	for n := range 1200 {
		for i := range b.TimeNs {
			now += 1000
			b.Flow[i] = tcp.FlowID(i/10 + 1)
			b.TimeNs[i] = now
			for f := range b.Cols {
				b.Cols[f][i] = int64(n + i)
			}
		}
		if err := s.Samples(b); err != nil {
			t.Fatal(err)
		}
	}
	total := 0
	for _, f := range s.Flows() {
		for i := range f.curves {
			total += len(f.curves[i].buckets)
		}
	}
	if total > totalLimit*5/4 {
		t.Errorf("%d buckets, want at most %d", total, totalLimit)
	}
	if f := s.Flows()[99]; len(f.curves[0].buckets) < 100 {
		t.Errorf("only %d buckets are left of a curve", len(f.curves[0].buckets))
	}
}

func TestLostRecordsAreCounted(t *testing.T) {
	s := NewSeries([]Kind{RTT}, nil, Options{})
	if err := s.Lost(&tcp.Loss{PerCPU: []uint64{2, 3}, Orphans: 1}); err != nil {
		t.Fatal(err)
	}
	if s.LostRecords() != 6 {
		t.Errorf("%d records, want 6", s.LostRecords())
	}
}

// BenchmarkSeries measures collecting for the overview, in samples per second.
func BenchmarkSeries(b *testing.B) {
	for _, kind := range []Kind{Cwnd, Overview} {
		b.Run(string(kind), func(b *testing.B) {
			s := NewSeries([]Kind{kind}, nil, Options{OriginNs: origin})
			batch := tcp.NewBatch(4096)
			batch.Resize(4096)
			for f := range batch.Cols {
				for i := range batch.Cols[f] {
					batch.Cols[f][i] = int64(i * (f + 1) % 1000)
				}
			}
			now := origin
			rows := 0
			for b.Loop() {
				for i := range batch.TimeNs {
					now += 10_000
					batch.TimeNs[i] = now
					batch.Flow[i] = 1
				}
				if err := s.Samples(batch); err != nil {
					b.Fatal(err)
				}
				rows += batch.Len()
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds()/1e6, "Msamples/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
