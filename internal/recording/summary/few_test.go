package summary

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"airtide/internal/tcp"
)

// fill gives a summary flows of 0 to 23 samples each.
func fill(t *testing.T, s *Summary, flows int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for id := range flows {
		if err := s.Flow(&tcp.Flow{ID: tcp.FlowID(id + 1), FirstNs: 1, Comm: "server"}); err != nil {
			t.Fatal(err)
		}
		b := tcp.NewBatch(1)
		var row tcp.Sample
		for i := range id % 24 {
			row.Flow = tcp.FlowID(id + 1)
			row.TimeNs = int64(1e9) + int64(i)*3e8
			for f := range row.Values {
				row.Values[f] = rng.Int64N(1 << 20)
			}
			row.Values[tcp.AckedBytes] = int64(i) * 1448
			b.Append(&row)
		}
		if b.Len() > 0 {
			if err := s.Samples(b); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A flow reports the same whether its samples were kept as they are or in sketches.
func TestFewSamplesReportTheSameAsSketches(t *testing.T) {
	few := New(Options{})
	many := New(Options{})
	fill(t, few, 100)
	fill(t, many, 100)
	for _, f := range many.order {
		if f.many == nil {
			f.many = newMeasures()
			f.few.each(f.firstSampleNs, f.many.add)
		}
	}
	a := few.Report()
	b := many.Report()
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\n%+v", a.Totals, b.Totals)
	}
	for _, s := range []*Summary{few, many} {
		if c := s.Finish(Choice{}); !reflect.DeepEqual(c.Totals, a.Totals) || len(c.Flows) > 0 {
			t.Errorf("%+v\n%+v", c.Totals, a.Totals)
		}
		i := 0
		for line := range s.List(nil, nil).Each() {
			if !reflect.DeepEqual(line, &a.Flows[i]) {
				t.Errorf("behind the end flow %d is %+v, was %+v", line.ID, line, a.Flows[i])
			}
			i++
		}
	}
}

func TestChosenFlowsAreThoseOfTheWholeReport(t *testing.T) {
	s := New(Options{})
	fill(t, s, 2*minSorted)
	for _, key := range SortKeys() {
		for _, reverse := range []bool{false, true} {
			o := Order{Key: key, Reverse: reverse}
			whole := s.Report()
			whole.keep(20, o)
			if first := s.choose(Choice{First: 20, Order: o}); !reflect.DeepEqual(first, whole) {
				t.Errorf("order %v: the reports differ", o)
			}
		}
	}
	for id, want := range map[tcp.FlowID]int{77: 1, 2*minSorted + 1: 0} {
		one := s.choose(Choice{Only: &id})
		if len(one.Flows) != want || want > 0 && one.Flows[0].ID != id || one.Totals.Flows != 2*minSorted {
			t.Errorf("a report of flow %d has %d", id, len(one.Flows))
		}
	}
}
