package summary

import (
	"net/netip"
	"testing"

	"airtide/internal/tcp"
)

const (
	ms  = int64(1e6)
	sec = int64(1e9)
	t0  = 1000 * sec // start of the scenes
)

// Report returns the totals and all flows, in the order of the first record.
func (s *Summary) Report() Report {
	return s.choose(Choice{First: len(s.order) + 1, Order: Order{Key: "none"}})
}

// choose returns a report of the data so far. More may follow.
func (s *Summary) choose(c Choice) Report { return s.report(c, func(*flow, *measures) {}) }

// list are the flows of a report.
func (r *Report) list() List { return List{len(r.Flows), func(i int) *Flow { return &r.Flows[i] }} }

// scene feeds a summary with synthetic samples.
type scene struct {
	t *testing.T
	*Summary
	batch *tcp.Batch
}

func newScene(t *testing.T, o Options) *scene {
	return &scene{t: t, Summary: New(o), batch: tcp.NewBatch(16)}
}

func (s *scene) open(id tcp.FlowID, change func(*tcp.Flow)) {
	s.t.Helper()
	f := tcp.Flow{
		ID: id, Local: netip.MustParseAddrPort("10.0.0.1:5201"), Remote: netip.MustParseAddrPort("10.0.0.2:40000"),
		CongestionControl: "cubic", FirstNs: t0, PID: 42, Comm: "iperf3",
	}
	if change != nil {
		change(&f)
	}
	if err := s.Flow(&f); err != nil {
		s.t.Fatal(err)
	}
}

type values map[tcp.Field]int64

// sample feeds one sample. Fields without a value are absent.
func (s *scene) sample(id tcp.FlowID, timeNs int64, v values) {
	s.t.Helper()
	sample := tcp.Sample{TimeNs: timeNs, Flow: id}
	for f := range sample.Values {
		sample.Values[f] = tcp.Absent
	}
	for f, n := range v {
		sample.Values[f] = n
	}
	s.batch.Reset()
	s.batch.Append(&sample)
	if err := s.Samples(s.batch); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) event(e tcp.Event) {
	s.t.Helper()
	if err := s.Event(&e); err != nil {
		s.t.Fatal(err)
	}
}

// only gives the report on the one flow of the scene.
func (s *scene) only() *Flow {
	s.t.Helper()
	r := s.Report()
	if len(r.Flows) != 1 {
		s.t.Fatalf("got %d flows, want 1", len(r.Flows))
	}
	return &r.Flows[0]
}

// is compares a value that may be absent.
func is[T comparable](t *testing.T, what string, got *T, want T) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is absent, want %v", what, want)
	} else if *got != want {
		t.Errorf("%s is %v, want %v", what, *got, want)
	}
}

func isAbsent[T any](t *testing.T, what string, got *T) {
	t.Helper()
	if got != nil {
		t.Errorf("%s is %v, want it absent", what, *got)
	}
}

// near allows a relative error.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if got < want*(1-tolerance) || got > want*(1+tolerance) {
		t.Errorf("%s is %g, want %g within %g %%", what, got, want, 100*tolerance)
	}
}
