package trace

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
)

func create(t testing.TB, path string) *Writer {
	t.Helper()
	w, err := Create(path, HostMetadata(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// scan reads all that the file holds.
func scan(t testing.TB, path string, o ScanOptions) (*kept, Damage) {
	t.Helper()
	r, err := Open(path)
	must(t, err)
	defer r.Close()
	var k kept
	must(t, r.Scan(context.Background(), o, &k))
	return &k, r.Damage()
}

// randomColumn fills a column in one of the ways that a field may behave, extremes included.
func randomColumn(rng *rand.Rand, v []int64) {
	extremes := []int64{0, 1, -1, math.MaxInt64, math.MinInt64 + 1, tcp.Absent, 1 << 62, -1 << 62, 1<<61 - 1, 1 << 56}
	value := extremes[rng.IntN(len(extremes))]
	way := rng.IntN(8)
	bits := rng.IntN(64)
	for i := range v {
		switch way {
		case 0: // constant
		case 1: // changes rarely
			if rng.IntN(50) == 0 {
				value = rng.Int64N(1 << 20)
			}
		case 2: // grows
			value += rng.Int64() >> bits & 0xffff
		case 3: // noise
			value = int64(rng.Uint64() >> bits)
		case 4: // signed noise
			value = int64(rng.Uint64()) >> bits
		case 5: // comes and goes
			if rng.IntN(20) == 0 {
				value = tcp.Absent
			} else if value == tcp.Absent || rng.IntN(3) == 0 {
				value = rng.Int64N(1000)
			}
		case 6: // extremes
			value = extremes[rng.IntN(len(extremes))]
		case 7: // nearly always absent
			value = tcp.Absent
			if rng.IntN(100) == 0 {
				value = extremes[rng.IntN(len(extremes))]
			}
		}
		v[i] = value
	}
}

func randomBatch(rng *rand.Rand, n, flows int) *tcp.Batch {
	b := tcp.NewBatch(n)
	b.Resize(n)
	randomColumn(rng, b.TimeNs)
	for f := range b.Cols {
		randomColumn(rng, b.Cols[f])
	}
	spread := tcp.FlowID(1 + rng.IntN(1<<rng.IntN(20)))
	for i := range b.Flow {
		b.Flow[i] = 1 + tcp.FlowID(rng.IntN(flows))*spread
	}
	if rng.IntN(4) == 0 {
		copy(b.Cols[tcp.AckedBytes][min(1, n-1):], b.Cols[tcp.AckBytes])
		copy(b.Cols[tcp.ReceivedBytes], b.Cols[tcp.SeqBytes])
	}
	return b
}

func TestRandomBatchesComeBackAsTheyWere(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		path := filepath.Join(t.TempDir(), "x.atr")
		w := create(t, path)
		var want kept
		both := tcp.Tee{w, &want}
		for range 1 + rng.IntN(6) {
			n := 1 + rng.IntN([]int{3, 40, 300, 3000, 20000}[rng.IntN(5)])
			must(t, both.Samples(randomBatch(rng, n, 1+rng.IntN([]int{1, 3, 100, 10000}[rng.IntN(4)]))))
		}
		must(t, w.Close())
		got, damage := scan(t, path, ScanOptions{})
		damage.UndefinedFlows = 0 // none was defined here
		if !damage.Whole() {
			t.Fatalf("seed %d: %s", seed, &damage)
		}
		sameRows(t, got, &want)
	}
}

func TestPackedGroupsOfEveryWidth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for width := range uint(65) {
		for n := 1; n <= groupRows; n++ {
			var in, out [groupRows]uint64
			var seen uint64
			for i := range n {
				in[i] = rng.Uint64() >> (64 - width)
				seen |= in[i]
			}
			packed := make([]byte, maxGroups(groupRows)+decodePadding)
			end := packGroup(packed, 0, &in, n, seen)
			unpackGroup(packed[1:], &out, n, uint(packed[0]))
			for i := range n {
				if in[i] != out[i] {
					t.Fatalf("width %d, residual %d of %d: %#x, want %#x", width, i, n, out[i], in[i])
				}
			}
			if want := 1 + (n*int(packed[0])+7)/8; end != want {
				t.Fatalf("width %d: %d residuals take %d bytes, want %d", width, n, end, want)
			}
		}
	}
}

// everyEvent is an event with every part, extremes included, and each part alone.
func everyEvent() []tcp.Event {
	all := tcp.Event{
		TimeNs: 1e12, Flow: math.MaxUint32, Kind: tcp.EventSack, Code: tcp.CodeDupAck, CAState: tcp.CARecovery,
		CwndPackets: math.MaxUint32, SsthreshPackets: 7, InFlightPackets: 8, Cause: tcp.CauseTLP,
		Reason: tcp.ReasonUndoDsack,
		From:   255, To: 1, Seq: 1 << 40, EndSeq: 1<<40 + 1448, Value: math.MinInt64, NumBlocks: 4,
		Blocks: [tcp.MaxBlocks]tcp.Block{{Start: 1, End: 2}, {Start: -5, End: 1 << 50}, {Start: 3, End: 1}, {}},
		Text:   "cubic\x00\xff", CPU: math.MaxUint16, FromSample: true,
	}
	events := []tcp.Event{{}, all, {TimeNs: 5, Flow: 1, Kind: tcp.EventTLPLoss}}
	whole := reflect.ValueOf(all)
	for i := range whole.NumField() {
		var one tcp.Event
		if name := whole.Type().Field(i).Name; name == "Blocks" {
			one.NumBlocks = 4
		} else if name == "NumBlocks" {
			continue
		}
		reflect.ValueOf(&one).Elem().Field(i).Set(whole.Field(i))
		events = append(events, one)
	}
	return events
}

func TestEverythingComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.atr")
	m := HostMetadata()
	m.Tool = "0.1"
	m.Label = "first floor"
	m.Command = []string{
		"iperf3", "-c", "ap",
	}
	m.Source = "bpf"
	m.SourceDetail = "tp_btf"
	m.Filter = filter.Filter{
		Ports: []uint16{443}, Comms: []string{"curl"},
	}
	m.Density = "every"
	m.IntervalNs = 1e8
	m.HZ = 250
	w, err := Create(path, m, Options{})
	must(t, err)
	var want kept
	both := tcp.Tee{w, &want}
	for id := range tcp.FlowID(4) {
		must(t, both.Flow(flowNumber(id+1)))
	}
	must(t, both.Flow(&tcp.Flow{ID: math.MaxUint32}))
	must(t, both.Samples(transfers(20000, 3, 1)))
	for _, e := range everyEvent() {
		if e.Flow == 0 {
			e.Flow = 1
		}
		must(t, both.Event(&e))
	}
	better := flowNumber(2)
	better.Comm = "known now"
	must(t, both.Flow(better))
	must(t, both.Lost(&tcp.Loss{TimeNs: 9, PerCPU: []uint64{1, 0, 2}, Untracked: 3, Orphans: 4}))
	must(t, w.Close())

	got, damage := scan(t, path, ScanOptions{})
	if !damage.Whole() || !damage.CleanEnd {
		t.Errorf("damage: %s", &damage)
	}
	sameRows(t, got, &want)
	sameRest(t, got, &want)

	r, err := Open(path)
	must(t, err)
	defer r.Close()
	m.Format = "1.2"
	if !reflect.DeepEqual(r.Metadata(), m) {
		t.Errorf("metadata:\n got %+v\nwant %+v", r.Metadata(), m)
	}
	totals, ok := r.Totals()
	stats := w.Stats()
	wantTotals := Totals{
		Samples: 20000, Events: uint64(len(want.events)), Flows: 6, Blocks: stats.Blocks,
		FirstNs: totals.FirstNs, LastNs: totals.LastNs, Lost: want.losses[0],
	}
	if !ok || !reflect.DeepEqual(totals, wantTotals) {
		t.Errorf("totals %+v, want %+v", totals, wantTotals)
	}
	if totals.FirstNs != 0 || totals.LastNs < 1e12 { // an event has time 0
		t.Errorf("the recording goes from %d to %d", totals.FirstNs, totals.LastNs)
	}
	if stats.Bytes != r.Size() {
		t.Errorf("stats say %d bytes, the file has %d", stats.Bytes, r.Size())
	}
}

func TestTenThousandFlowsWithFewSamplesEach(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.atr")
	w := create(t, path)
	var want kept
	both := tcp.Tee{w, &want}
	for id := range tcp.FlowID(10000) {
		must(t, both.Flow(flowNumber(id+1)))
	}
	must(t, both.Samples(transfers(5*MaxBlockRows, 10000, 3)))
	must(t, w.Close())
	got, damage := scan(t, path, ScanOptions{})
	if !damage.Whole() {
		t.Errorf("damage: %s", &damage)
	}
	sameRows(t, got, &want)
	sameRest(t, got, &want)
	perSample := float64(w.Stats().Bytes) / (5 * MaxBlockRows)
	t.Logf("%.1f bytes per sample, definitions of flows included", perSample)
	if perSample > 80 {
		t.Errorf("%.1f bytes per sample: few samples of each flow in a block must stay affordable", perSample)
	}
}
