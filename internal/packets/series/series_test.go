package series_test

import (
	"testing"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/read"
	"airtide/internal/packets/series"
	"airtide/internal/tcp"
)

const lossy = "../conn/testdata/lossy.pcap.gz"

// sums is a sink that checks the order and adds up.
type sums struct {
	tcp.Discard
	t       *testing.T
	flows   map[tcp.FlowID]*tcp.Flow
	last    map[tcp.FlowID]tcp.Sample
	samples int
	events  map[tcp.EventKind]int
}

func (s *sums) Flow(f *tcp.Flow) error {
	s.flows[f.ID] = f
	return nil
}

func (s *sums) Samples(b *tcp.Batch) error {
	for i := range b.Len() {
		var row tcp.Sample
		b.Row(i, &row)
		before, known := s.last[row.Flow]
		if s.flows[row.Flow] == nil || known && (row.TimeNs < before.TimeNs ||
			row.Values[tcp.AckedBytes] < before.Values[tcp.AckedBytes] ||
			row.Values[tcp.SentBytes] < before.Values[tcp.SentBytes] || row.Values[tcp.UnackedBytes] < 0) {
			s.t.Errorf("sample %+v behind %+v", row, before)
		}
		s.last[row.Flow] = row
		s.samples++
	}
	return nil
}

func (s *sums) Event(e *tcp.Event) error {
	if s.flows[e.Flow] == nil {
		s.t.Errorf("event of unknown flow %d", e.Flow)
	}
	s.events[e.Kind]++
	return nil
}

func run(t *testing.T, only uint64) (*sums, []*conn.Connection) {
	t.Helper()
	r, err := read.Open(lossy)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sink := &sums{
		t: t, flows: map[tcp.FlowID]*tcp.Flow{}, last: map[tcp.FlowID]tcp.Sample{}, events: map[tcp.EventKind]int{},
	}
	s := &series.Series{Sink: sink, Only: only}
	var all []*conn.Connection
	_, err = conn.Run(t.Context(), r, conn.Options{Observer: s, Done: func(c *conn.Connection) error {
		all = append(all, c)
		return s.Done(c)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil || s.Samples != uint64(sink.samples) {
		t.Errorf("%d of %d samples, %v", sink.samples, s.Samples, err)
	}
	return sink, all
}

// The sums of the series are those of the analysis.
func TestSeriesAddUp(t *testing.T) {
	sink, all := run(t, 0)
	if sink.samples != 700 || len(sink.flows) != 4 || sink.events[tcp.EventRetransmit] != 95 ||
		sink.events[tcp.EventSack]+sink.events[tcp.EventDsack] != 294 {
		t.Errorf("%d samples, %d flows, events %v", sink.samples, len(sink.flows), sink.events)
	}
	for _, c := range all {
		client := sink.last[series.FlowID(c.ID, true)].Values
		if f := sink.flows[series.FlowID(c.ID, false)]; f.Local != c.Server || f.Remote != c.Client {
			t.Errorf("%+v", f)
		}
		if client[tcp.AckedBytes] != int64(c.FromServer.AckedBytes) ||
			client[tcp.RetransmitsPackets] != int64(c.FromClient.AllRetransmissions()) ||
			client[tcp.SentBytes] < int64(c.FromClient.UniqueBytes) {
			t.Errorf("connection %d: %v, %+v", c.ID, client, c.FromClient)
		}
	}
}

func TestSeriesOfOneConnection(t *testing.T) {
	if sink, _ := run(t, 2); sink.samples != 686 || len(sink.flows) != 2 || sink.flows[3] == nil {
		t.Errorf("%d samples of %v", sink.samples, sink.flows)
	}
}
