package diagnose

import (
	"testing"

	"airtide/internal/tcp"
)

const (
	t0      = int64(1_000e9)
	ms      = int64(1e6)
	segment = 1448
)

// scene feeds an engine with the samples of flow 1: one each 10 ms.
type scene struct {
	t      *testing.T
	engine *Engine
	flow   tcp.Flow
	now    int64
	row    tcp.Sample
}

// values are fields of a sample.
type values map[tcp.Field]int64

// newScene begins a connection of 40 ms that sends 5 Mbit/s and has nothing unusual: a segment in
// flight for each of its window, and data waiting.
func newScene(t *testing.T, o Options) *scene {
	s := &scene{t: t, engine: New(o), now: t0}
	s.flow = tcp.Flow{ID: 1, CongestionControl: "cubic", FirstNs: t0, Comm: "program"}
	s.row.Flow = 1
	for f := range s.row.Values {
		s.row.Values[f] = tcp.Absent
	}
	s.set(values{
		tcp.CwndPackets: 20, tcp.InFlightPackets: 20, tcp.SsthreshPackets: 10, tcp.CAStateField: 0,
		tcp.MSSBytes: segment, tcp.CwndLimited: 1, tcp.SrttUs: 40_000, tcp.RttUs: 40_000, tcp.MinRttUs: 40_000,
		tcp.SendWindowBytes: 1 << 20, tcp.ReceiveWindowBytes: 1 << 16, tcp.AckedBytes: 0, tcp.SentBytes: 20 * segment,
		tcp.WrittenBytes: 60 * segment, tcp.ReceivedBytes: 0, tcp.ReadBytes: 0, tcp.SendBufferBytes: 1 << 20,
		tcp.SendMemoryBytes: 100_000, tcp.DeviceQueueBytes: 0, tcp.OutOfOrderPackets: 0, tcp.DeliveredPackets: 0,
		tcp.RetransmitsPackets: 0, tcp.PacingRateBps: 8_000_000, tcp.BusyUs: 0,
		tcp.RwndLimitedUs:   0,
		tcp.SndbufLimitedUs: 0, tcp.SegmentBytes: 0, tcp.AckBytes: 0, tcp.StateField: 1,
	})
	return s
}

func (s *scene) set(v values) {
	for f, x := range v {
		s.row.Values[f] = x
	}
}

// run delivers samples for a time. each changes the row before it is delivered; i counts from 0.
func (s *scene) run(length int64, each func(i int64)) {
	s.t.Helper()
	if s.now == t0 {
		if err := s.engine.Flow(&s.flow); err != nil {
			s.t.Fatal(err)
		}
	}
	b := tcp.NewBatch(64)
	for i := range length / (10 * ms) {
		s.now += 10 * ms
		s.row.TimeNs = s.now
		if each != nil {
			each(i)
		}
		b.Append(&s.row)
	}
	if err := s.engine.Samples(b); err != nil {
		s.t.Fatal(err)
	}
}

// grow adds to fields.
func (s *scene) grow(v values) {
	for f, x := range v {
		s.row.Values[f] += x
	}
}

// sends lets the connection deliver so many segments in 10 ms.
func (s *scene) sends(segments int64) {
	n := segments * segment
	s.grow(values{
		tcp.AckedBytes: n, tcp.SentBytes: n, tcp.WrittenBytes: n, tcp.DeliveredPackets: segments, tcp.BusyUs: 10_000,
	})
}

// fillsPeer lets it deliver so many segments in 10 ms, while the peer's window is full at one
// sample of some. A window goes out in 40 ms if these are 5 segments.
func (s *scene) fillsPeer(length, segments, some int64) {
	s.set(values{tcp.CwndLimited: 0, tcp.InFlightPackets: 6, tcp.CwndPackets: 30})
	s.run(length, func(i int64) {
		s.sends(segments)
		room := int64(2 * segment)
		if i%some == 0 {
			room = 100
			s.grow(values{tcp.RwndLimitedUs: 10_000})
		}
		s.set(values{tcp.SendWindowBytes: s.unacked() + room})
	})
}

func (s *scene) event(e tcp.Event) {
	s.t.Helper()
	e.Flow = 1
	e.TimeNs = s.now
	if err := s.engine.Event(&e); err != nil {
		s.t.Fatal(err)
	}
}

// only returns the finding of the only flow.
func (s *scene) only() Connection {
	s.t.Helper()
	r := s.engine.Report()
	if len(r.Connections) != 1 {
		s.t.Fatalf("%d connections, want 1", len(r.Connections))
	}
	return r.Connections[0]
}
