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
	few, many := New(Options{}), New(Options{})
	fill(t, few, 100)
	fill(t, many, 100)
	for _, f := range many.order {
		if f.many == nil {
			f.many = newMeasures()
			f.few.each(f.firstSampleNs, f.many.add)
		}
	}
	a, b := few.Report(), many.Report()
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\n%+v", a.Totals, b.Totals)
	}
	if c := few.Finish(); !reflect.DeepEqual(c.Totals, a.Totals) {
		t.Errorf("%+v\n%+v", c.Totals, a.Totals)
	}
	if c := few.Report(); !reflect.DeepEqual(c, a) {
		t.Error("it reports something else behind its end")
	}
}

func TestFirstFlowsAreThoseOfTheWholeReport(t *testing.T) {
	s := New(Options{})
	fill(t, s, 2*minSorted)
	for _, key := range SortKeys() {
		for _, reverse := range []bool{false, true} {
			o := Order{Key: key, Reverse: reverse}
			whole := s.Report()
			whole.keep(20, o)
			if first := s.First(20, o); !reflect.DeepEqual(first, whole) {
				t.Errorf("order %v: the reports differ", o)
			}
		}
	}
	if one := s.Only(77); len(one.Flows) != 1 || one.Flows[0].ID != 77 || one.Totals.Flows != 2*minSorted {
		t.Errorf("a report of one flow has %d", len(one.Flows))
	}
}
