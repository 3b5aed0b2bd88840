package screen

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"airtide/internal/tcp"
)

const second = int64(time.Second)

// observe feeds a table and stops the test when it refuses.
func observe(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("the table refused: %v", err)
	}
}

func oneFlow(t *testing.T, o TableOptions) *Table {
	t.Helper()
	table := NewTable(o)
	observe(t, table.Flow((&synthetic{}).flow(0, 0)))
	return table
}

func feed(t *testing.T, table *Table, samples ...*tcp.Sample) {
	t.Helper()
	b := tcp.NewBatch(len(samples))
	for _, s := range samples {
		b.Append(s)
	}
	observe(t, table.Samples(b))
}

func only(t *testing.T, table *Table, nowNs int64) *Row {
	t.Helper()
	rows := table.Rows(nowNs, Sort{}, Filter{})
	if len(rows) != 1 {
		t.Fatalf("got %d rows, want one", len(rows))
	}
	return rows[0]
}

// within allows for the rounding of an interpolated counter.
func within(got Value, want, percent float64) bool {
	return float64(got) >= want*(1-percent/100) && float64(got) <= want*(1+percent/100)
}

func TestSendRateIsTheGrowthOfTheAckedStreamOverTheLastWindow(t *testing.T) {
	type at struct{ ms, acked int64 }
	steady := func(fromMs, toMs, stepMs, bytesPerMs int64) (points []at) {
		for ms := fromMs; ms <= toMs; ms += stepMs {
			points = append(points, at{ms, ms * bytesPerMs})
		}
		return points
	}
	const absent = tcp.Absent
	for _, c := range []struct {
		name   string
		every  time.Duration
		points []at
		nowMs  int64
		want   float64 // bit/s
	}{
		{"a steady flow at every ACK", 0, steady(0, 5000, 5, 1000), 5000, 8e6},
		{"a steady flow, polled slowly", 0, steady(0, 5000, 700, 1000), 5000, 8e6},
		{"one sample tells nothing yet", 0, []at{{1000, 5_000_000}}, 1100, absent},
		{"nor does the first burst", 0, []at{{1000, 0}, {1020, 80_000}}, 1020, absent},
		{"a connection that is younger than the window", 0, steady(0, 500, 10, 1000), 500, 8e6},
		{"the flow stopped a moment ago: samples may only be late", 0, steady(0, 5000, 5, 1000), 5900, 8e6},
		{"the flow stopped two seconds ago: half of the window is empty", 0, steady(0, 5000, 5, 1000), 7000, 4e6},
		{"the flow stopped long ago", 0, steady(0, 5000, 5, 1000), 60_000, 0},
		{"a gap of ten seconds makes no " +
			"peak", 0, append(steady(0, 5000, 5, 1000), at{15_000, 15_000_000}), 15_000, 8e6},
		{"a sample every five seconds, as the options " +
			"announce", 5 * time.Second, steady(0, 60_000, 5000, 1000), 64_000, 8e6},
		{"a counter that starts anew", 0, append(steady(0, 5000, 5, 1000), at{5100, 0}, at{5600, 500_000}), 5600, 8e6},
		{"a sample out of order", 0, append(steady(0, 5000, 5, 1000), at{3000, 3_000_000}), 5000, 8e6},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := oneFlow(t, TableOptions{SampleEvery: c.every})
			for _, p := range c.points {
				feed(t, table, sample(1, p.ms*1e6, map[tcp.Field]int64{tcp.AckedBytes: p.acked, tcp.ReceivedBytes: 7}))
			}
			r := only(t, table, c.nowMs*1e6)
			if c.want == absent {
				if r.SendRate != absent {
					t.Errorf("rate %d bit/s, want none", r.SendRate)
				}
				return
			}
			if !within(r.SendRate, c.want, 1) {
				t.Errorf("rate %d bit/s, want %.0f", r.SendRate, c.want)
			}
			if r.ReceiveRate != 0 {
				t.Errorf("receive rate %d bit/s of a stream that stands still", r.ReceiveRate)
			}
		})
	}
}

func TestManyRowsOfOneBatchLeaveTheLastValuesAndTheWholeRange(t *testing.T) {
	table := oneFlow(t, TableOptions{})
	b := tcp.NewBatch(0)
	for i, cwnd := range []int64{10, 90, 5, 20} {
		b.Append(sample(1, int64(i)*1e6, map[tcp.Field]int64{tcp.CwndPackets: cwnd, tcp.SrttUs: 1000 + cwnd}))
	}
	observe(t, table.Samples(b))
	if r := only(t, table, second); r.Cwnd != 20 || r.Srtt != 1020 {
		t.Errorf("cwnd %d, srtt %d; want those of the last row, 20 and 1020", r.Cwnd, r.Srtt)
	}
	d, _ := table.Detail(second, 1)
	if len(d.History) != 1 || d.History[0].CwndMin != 5 || d.History[0].CwndMax != 90 || d.History[0].RTTMax != 1090 {
		t.Errorf("history %+v, want one point that spans cwnd 5 to 90 and an RTT up to 1090", d.History)
	}
}

func TestWhatWasNotSampledIsAbsentAndNotZero(t *testing.T) {
	table := oneFlow(t, TableOptions{})
	r := only(t, table, second)
	for name, v := range map[string]Value{
		"cwnd": r.Cwnd, "ssthresh": r.Ssthresh, "srtt": r.Srtt, "send rate": r.SendRate, "retransmits": r.Retransmits,
		"send queue": r.SendQueued, "sample time": r.SampleNs,
	} {
		if v != tcp.Absent {
			t.Errorf("%s is %d before the first sample", name, v)
		}
	}
	if r.State != "" || r.CAState != "" {
		t.Errorf("state %q and congestion state %q before the first sample", r.State, r.CAState)
	}
}

func TestErrorsAreCountedByTheirCode(t *testing.T) {
	table := oneFlow(t, TableOptions{})
	table.SetSource(Source{Name: "diag", Unseen: []tcp.ErrorCode{tcp.CodeLocalCongestion, tcp.CodeTimeout}})
	for _, e := range []tcp.Event{
		{Kind: tcp.EventReordering, Code: tcp.CodeReordering},
		{Kind: tcp.EventSack, Code: tcp.CodeDupAck},
		{Kind: tcp.EventDupAck, Code: tcp.CodeDupAck},
		{Kind: tcp.EventTimeout, Code: tcp.CodeTimeout},
		{Kind: tcp.EventRetransmit, Cause: tcp.CauseRTO},
	} {
		e.Flow = 1
		observe(t, table.Event(&e))
	}
	r := only(t, table, second)
	// The source reports that it sees neither code 2 nor code 4. No count of code 2 is absent, but
	// an observed timeout counts.
	if want := (Errors{1, tcp.Absent, 2, 1}); r.Errors != want {
		t.Errorf("errors %v, want %v", r.Errors, want)
	}
	if r.RetransmitEvents != 1 {
		t.Errorf("%d retransmissions, want 1", r.RetransmitEvents)
	}
}

func TestAHookTellsAStateBeforeTheNextSampleDoes(t *testing.T) {
	table := oneFlow(t, TableOptions{})
	feed(
		t,
		table,
		sample(1, 2*second,
			map[tcp.Field]int64{tcp.StateField: int64(tcp.StateEstablished), tcp.CAStateField: int64(tcp.CAOpen)}),
	)
	observe(t, table.Event(&tcp.Event{TimeNs: 3 * second, Flow: 1, Kind: tcp.EventCAState, To: uint8(tcp.CALoss)}))
	observe(t, table.Event(&tcp.Event{TimeNs: 1 * second, Flow: 1, Kind: tcp.EventState, To: uint8(tcp.StateSynSent)}))
	observe(t, table.Event(&tcp.Event{TimeNs: 3 * second, Flow: 1, Kind: tcp.EventCCChange, Text: "bbr"}))
	again := (&synthetic{}).flow(0, 0)
	again.PID = 0
	again.Comm = ""
	observe(t, table.Flow(again))
	r := only(t, table, 3*second)
	if r.CAState != "loss" || r.State != "established" || r.CongestionControl != "bbr" || r.Comm != "iperf3" {
		t.Errorf("got %s, %s, %s of %s; want loss, established, bbr of iperf3", r.CAState, r.State, r.CongestionControl,
			r.Comm)
	}
}

func TestAClosedFlowLingersAndThenLeaves(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason tcp.Reason
		nowNs  int64
		rows   int
		closed bool
	}{
		{"shortly after its end", tcp.ReasonResetReceived, 14 * second, 1, true},
		{"six seconds after its end", tcp.ReasonResetReceived, 16 * second, 0, false},
		{"still open when the observation ended", tcp.ReasonStillOpen, 60 * second, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := oneFlow(t, TableOptions{})
			observe(t, table.Event(&tcp.Event{TimeNs: 10 * second, Flow: 1, Kind: tcp.EventClose, Reason: c.reason}))
			rows := table.Rows(c.nowNs, Sort{}, Filter{})
			if len(rows) != c.rows {
				t.Fatalf("%d rows, want %d", len(rows), c.rows)
			}
			if c.rows == 1 && (rows[0].Closed != c.closed || (rows[0].CloseReason == "reset_received") != c.closed) {
				t.Errorf("closed %t, reason %q", rows[0].Closed, rows[0].CloseReason)
			}
			if got := table.Status(c.nowNs).Flows; got != c.rows {
				t.Errorf("status counts %d flows, want %d", got, c.rows)
			}
			// A late sample of a removed flow must do no harm.
			feed(t, table, sample(1, 11*second, nil))
			observe(t, table.Event(&tcp.Event{TimeNs: 11 * second, Flow: 1, Kind: tcp.EventSack}))
		})
	}
}

func TestAFullTableCountsTheFlowsItDoesNotTakeAndMakesRoomOfClosedOnes(t *testing.T) {
	s := &synthetic{flows: 5}
	table := NewTable(TableOptions{MaxFlows: 3})
	observe(t, s.announce(table, 0))
	observe(t, table.Lost(&tcp.Loss{PerCPU: []uint64{1, 2}, Orphans: 4, Untracked: 10}))
	st := table.Status(second)
	if st.Flows != 3 || st.Untracked != 12 || st.Lost != 7 {
		t.Errorf("%d flows, %d untracked, %d lost; want 3, 12 (two of them here), 7", st.Flows, st.Untracked, st.Lost)
	}
	observe(t, table.Event(&tcp.Event{TimeNs: second, Flow: 1, Kind: tcp.EventClose, Reason: tcp.ReasonLocalFIN}))
	observe(t, table.Flow(s.flow(9, 20*second)))
	if st := table.Status(second); st.Flows != 3 || st.Untracked != 12 {
		t.Errorf("%d flows, %d untracked; want the new flow in the place of the closed one", st.Flows, st.Untracked)
	}
}

func TestOnlyTheLastEventsAndTheLastMinuteAreKept(t *testing.T) {
	table := oneFlow(t, TableOptions{})
	for i := range int64(1000) {
		observe(t, table.Event(&tcp.Event{TimeNs: i, Flow: 1, Kind: tcp.EventRetransmit, Seq: i}))
		feed(t, table, sample(1, i*second/5, map[tcp.Field]int64{tcp.CwndPackets: i}))
	}
	for i := range int64(50) {
		observe(t, table.Event(&tcp.Event{TimeNs: 1000 + i, Flow: 1, Kind: tcp.EventSack, Code: tcp.CodeDupAck}))
	}
	d, ok := table.Detail(200*second, 1)
	if !ok || len(d.Events) != eventsKept || len(d.History) != historyPoints {
		t.Fatalf("%d events and %d points, want %d and %d", len(d.Events), len(d.History), eventsKept, historyPoints)
	}
	last := d.Events[eventsKept-1]
	before := d.Events[eventsKept-2]
	if last.Kind != tcp.EventSack || last.Count != 50 || last.TimeNs != 1049 || before.Seq != 999 {
		t.Errorf("the last events are %v (%d times) and seq %d; want one entry for 50 SACKs after seq 999", last.Kind,
			last.Count, before.Seq)
	}
	if first, newest := d.History[0], d.History[historyPoints-1]; first.CwndMin != 400 || newest.CwndMax != 999 {
		t.Errorf("history from cwnd %d to %d, want 400 to 999", first.CwndMin, newest.CwndMax)
	}
}

func TestTheRateOfTheLastHalfSecondIsKept(t *testing.T) {
	table := oneFlow(t, TableOptions{})
	acked := int64(0)
	received := int64(0)
	for ns := int64(0); ns < 10*second; ns += second / 10 {
		if ns < 5*second {
			acked += 100_000 // 8 Mbit/s
		} else {
			received += 25_000 // 2 Mbit/s, and nothing is sent
		}
		feed(t, table, sample(1, ns, map[tcp.Field]int64{tcp.AckedBytes: acked, tcp.ReceivedBytes: received}))
	}
	d, _ := table.Detail(10*second, 1)
	for _, p := range d.History {
		want := Value(tcp.Absent)
		switch {
		case p.TimeNs >= 56*second/10:
			want = 2_000_000
		case p.TimeNs >= 5*second:
			continue // between both
		case p.TimeNs >= second/2:
			want = 8_000_000
		}
		if off := p.Rate - int64(want); off < -10_000 || off > 10_000 {
			t.Errorf("%.1f s: %d bit/s, want %d", float64(p.TimeNs)/1e9, p.Rate, want)
		}
	}
	if len(d.History) < 90 {
		t.Errorf("%d points", len(d.History))
	}
}

func TestTenThousandBusyFlowsStayWithinBoundedMemory(t *testing.T) {
	s := &synthetic{flows: 10_000}
	table := NewTable(TableOptions{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	observe(t, s.announce(table, 0))
	b := tcp.NewBatch(s.flows)
	for id := range s.flows {
		b.Append(
			sample(tcp.FlowID(id+1), 0, map[tcp.Field]int64{tcp.CwndPackets: 10, tcp.RttUs: 10, tcp.AckedBytes: 1}),
		)
	}
	for i := range int64(700) { // more than the longest history holds
		if i == 150 {
			b.Resize(manyFlows) // the others' histories are full
		}
		for row := range b.TimeNs {
			b.TimeNs[row] = i * second / 2
		}
		observe(t, table.Samples(b))
	}
	for id := range s.flows {
		for range eventsKeptFew {
			observe(t, table.Event(&tcp.Event{Flow: tcp.FlowID(id + 1), Kind: tcp.EventRetransmit}))
		}
	}
	b = nil
	runtime.GC()
	runtime.ReadMemStats(&after)
	mb := float64(after.HeapAlloc-before.HeapAlloc) / 1e6
	t.Logf("%.0f MB for 10 000 busy flows", mb)
	if mb > 152 {
		t.Errorf("%.0f MB for 10 000 busy flows, want at most 152", mb)
	}
	runtime.KeepAlive(table)
}

// BenchmarkSamples measures the cost per sample of batches of 1000 rows, of 10 flows that send in
// turn and of 10 000.
func BenchmarkSamples(b *testing.B) {
	for name, flows := range map[string]int{"10 flows": 10, "10000 flows": 10_000} {
		b.Run(name, func(b *testing.B) {
			table := NewTable(TableOptions{})
			s := &synthetic{flows: flows}
			if err := s.announce(table, 0); err != nil {
				b.Fatal(err)
			}
			batch := tcp.NewBatch(1000)
			for i := range 1000 {
				batch.Append(
					sample(tcp.FlowID(1+i*flows/1000), 0,
						map[tcp.Field]int64{tcp.CwndPackets: 10, tcp.RttUs: 10, tcp.AckedBytes: 1}),
				)
			}
			ns := int64(0)
			for b.Loop() {
				ns += 1e6
				for i := range batch.TimeNs {
					batch.TimeNs[i] = ns
				}
				if err := table.Samples(batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/sample")
		})
	}
}

// BenchmarkRefresh measures a redraw with 10 000 flows: the snapshot, its order and the picture.
func BenchmarkRefresh(b *testing.B) {
	s := &synthetic{flows: 10_000}
	table := NewTable(TableOptions{})
	if err := errors.Join(s.announce(table, 0), s.step(table, 0), s.step(table, second)); err != nil {
		b.Fatal(err)
	}
	for _, key := range []string{SortByRate, "process"} {
		b.Run(key, func(b *testing.B) {
			m := newUI(table, Options{Clock: fixedClock, Sort: Sort{Key: key}}.complete(time.Second), true)
			for b.Loop() {
				m.refresh()
				m.View()
			}
		})
	}
}

// The table names the limit of each flow, and the detail its past.
func TestTheTableNamesTheLimit(t *testing.T) {
	table := NewTable(TableOptions{})
	feed := func(from, to int64, values map[tcp.Field]int64) {
		b := tcp.NewBatch(1024)
		for ns := from; ns < to; ns += 10e6 {
			row := tcp.Sample{Flow: 1, TimeNs: ns}
			for f := range row.Values {
				row.Values[f] = tcp.Absent
			}
			n := (ns / 10e6) * 5000
			for f, v := range map[tcp.Field]int64{
				tcp.AckedBytes: n, tcp.SentBytes: n + 20_000, tcp.WrittenBytes: n + 20_000, tcp.CwndPackets: 50,
				tcp.InFlightPackets: 14, tcp.MSSBytes: 1448, tcp.RttUs: 40_000, tcp.SrttUs: 40_000,
				tcp.BusyUs:          ns / 1000,
				tcp.SendWindowBytes: 1 << 20, tcp.ReceivedBytes: 0, tcp.RwndLimitedUs: 0, tcp.SndbufLimitedUs: 0,
				tcp.CwndLimited: 0, tcp.SendBufferBytes: 1 << 20, tcp.SendMemoryBytes: 30_000, tcp.SegmentBytes: 0,
			} {
				row.Values[f] = v
			}
			for f, v := range values {
				row.Values[f] = v
			}
			b.Append(&row)
		}
		if err := table.Samples(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Flow(&tcp.Flow{ID: 1, FirstNs: 1e9}); err != nil {
		t.Fatal(err)
	}
	limit := func(nowNs int64) string { return string(table.Rows(nowNs, Sort{Key: "flow"}, Filter{})[0].Limit) }
	feed(1e9, 6e9, nil)
	if got := limit(6e9); got != "application" {
		t.Errorf("the limit is %q, want the application", got)
	}
	feed(6e9, 11e9, map[tcp.Field]int64{tcp.WrittenBytes: 1 << 30, tcp.SendWindowBytes: 20_100})
	if got := limit(11e9); got != "receive window" {
		t.Errorf("the limit is %q, want the receive window", got)
	}
	d, _ := table.Detail(11e9, 1)
	if n := len(d.Finding.Phases); n != 2 {
		t.Errorf("the past has %d phases, want 2: %+v", n, d.Finding.Phases)
	}
}

// BenchmarkFullTable measures the cost of a flow that a full table has no room for.
func BenchmarkFullTable(b *testing.B) {
	s := &synthetic{flows: manyFlows}
	table := NewTable(TableOptions{MaxFlows: manyFlows})
	observe(b, s.announce(table, 0))
	for i := 0; b.Loop(); i++ {
		observe(b, table.Flow(s.flow(manyFlows+i, 1)))
	}
}
