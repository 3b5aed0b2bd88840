//go:build tools

package export

import (
	"path/filepath"
	"slices"
	"testing"

	"airtide/internal/tcp"
)

// perfettoSeen is the output of testdata/read_perfetto.py.
type perfettoSeen struct {
	Definitions struct {
		Unknown        []string       `json:"unknown"`
		FirstIsCleared bool           `json:"first_is_cleared"`
		Sequences      []int          `json:"sequences"`
		Tracks         []string       `json:"tracks"`
		Counters       map[string]int `json:"counters"`
		Instants       []string       `json:"instants"`
	} `json:"definitions"`
	Processor struct {
		Problems  []map[string]any `json:"problems"`
		Processes []struct {
			PID  int    `json:"pid"`
			Name string `json:"name"`
		} `json:"processes"`
		Counters []struct {
			Flow, Counter   string
			N               int
			Least, Greatest float64
			First, Last     int64
		} `json:"counters"`
		Slices []struct {
			Flow, Name string
			N          int
			Dur        int64
		} `json:"slices"`
		Instants []struct {
			TS                    int64
			Name, Category, Track string
		} `json:"instants"`
		Arguments []struct{ Event, Name, Value string } `json:"arguments"`
		Owners    []struct{ Track, Process string }     `json:"owners"`
		WallNs    []struct{ V int64 }                   `json:"wall_ns"`
		Release   []struct{ V string }                  `json:"release"`
	} `json:"processor"`
}

const (
	firstFlow = "flow 1 10.0.0.1:40000 > 10.0.0.2:5201 cubic"
	thirdFlow = "flow 3 [2001:db8::1]:443 > [2001:db8::2]:50000"
	// Timestamps are shown in the clock of Android's traces, which is half a second ahead of the
	// monotonic clock.
	bootOffsetNs = 500_000_000
)

func TestPerfettoAcceptsTheTrace(t *testing.T) {
	const samples = 6000 // 2000 for each flow, 10 µs apart in turn
	var survey Survey
	if err := play(&survey, samples); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.pftrace")
	exportTo(t, Perfetto, path, samples, Options{Flows: survey.Flows()})
	var seen perfettoSeen
	runPython(t, &seen, "read_perfetto.py", path)

	t.Run("every field is one of the published definitions", func(t *testing.T) {
		d := seen.Definitions
		if len(d.Unknown) > 0 || !d.FirstIsCleared || !slices.Equal(d.Sequences, []int{sequence}) {
			t.Errorf("unknown fields %v, first packet clears state: %v, sequences %v", d.Unknown, d.FirstIsCleared,
				d.Sequences)
		}
		for _, track := range []string{
			firstFlow, thirdFlow, "iperf3", "sshd", "cwnd_packets", "ca_state", lostTrackName,
		} {
			if !slices.Contains(d.Tracks, track) {
				t.Errorf("no track %q among %q", track, d.Tracks)
			}
		}
		want := []string{
			"open", "sack", "retransmit (fast)", "timeout", "ca_state", "cc_change", "close", lostTrackName,
			lostTrackName,
		}
		if !slices.Equal(d.Instants, want) {
			t.Errorf("instants %q, want %q", d.Instants, want)
		}
	})
	t.Run("the trace processor finds no fault", func(t *testing.T) {
		if len(seen.Processor.Problems) > 0 {
			t.Errorf("%v", seen.Processor.Problems)
		}
	})
	t.Run("counters are written when they change", func(t *testing.T) { checkCounters(t, &seen) })
	t.Run("flows stand under the process that is finally known", func(t *testing.T) {
		p := seen.Processor
		if len(p.Processes) != 2 || p.Processes[0].Name != "iperf3" || p.Processes[0].PID != 4711 {
			t.Errorf("processes %v", p.Processes)
		}
		if len(p.Owners) != 3 || p.Owners[2].Track != thirdFlow || p.Owners[2].Process != "sshd" {
			t.Errorf("owners of flows %v", p.Owners)
		}
	})
	t.Run("events are instants with arguments", func(t *testing.T) { checkInstants(t, &seen) })
	t.Run("congestion states are slices", func(t *testing.T) { checkStateSlices(t, &seen) })
	t.Run("clock and host are told", func(t *testing.T) {
		p := seen.Processor
		if len(p.WallNs) != 1 || p.WallNs[0].V != testMeta.ClockWallNs || len(p.Release) != 1 ||
			p.Release[0].V != "6.1.0" {
			t.Errorf("wall clock %v, kernel %v", p.WallNs, p.Release)
		}
	})
}

func checkCounters(t *testing.T, seen *perfettoSeen) {
	want := map[string]int{
		"cwnd_packets":     2000, // changes with every sample
		"ssthresh_packets": 1,    // stays
		"srtt_us":          -1,   // noise: some
		"rwnd_limited_us":  0,    // absent
	}
	found := map[string]int{}
	for _, c := range seen.Processor.Counters {
		if c.Flow != firstFlow {
			continue
		}
		found[c.Counter] = c.N
		if c.Counter == "cwnd_packets" && (c.Least != 10 || c.Greatest != 99 || c.First != testStartNs+bootOffsetNs ||
			c.Last != testStartNs+bootOffsetNs+1999*30_000) {
			t.Errorf("cwnd_packets: %+v", c)
		}
		if c.Counter == "ssthresh_packets" && (c.Least != 60 || c.First != testStartNs+bootOffsetNs+30_000) {
			t.Errorf("ssthresh_packets, absent in the first sample: %+v", c)
		}
	}
	for counter, n := range want {
		if got := found[counter]; n >= 0 && got != n || n < 0 && (got < 100 || got >= 2000) {
			t.Errorf("%d values of %s, want %d", got, counter, n)
		}
	}
	if n := seen.Definitions.Counters["cwnd_packets"]; n != 6000 {
		t.Errorf("%d values of cwnd_packets in all flows, want 6000", n)
	}
}

func checkInstants(t *testing.T, seen *perfettoSeen) {
	instants := seen.Processor.Instants
	if len(instants) != 9 {
		t.Fatalf("%d instants, want 9: %+v", len(instants), instants)
	}
	if i := instants[1]; i.Name != "sack" || i.Category != categoryErrors || i.Track != firstFlow ||
		i.TS != testStartNs+bootOffsetNs+3_000_000 {
		t.Errorf("second instant %+v", i)
	}
	arguments := map[[2]string]string{}
	for _, a := range seen.Processor.Arguments {
		arguments[[2]string{a.Event, a.Name}] = a.Value
	}
	for argument, want := range map[[2]string]string{
		{"sack", "code_name"}:              "dup_ack",
		{"sack", "blocks"}:                 "1448-2896 4344-5792",
		{"sack", "from_sample"}:            "true",
		{"sack", "cwnd_packets"}:           "20",
		{"retransmit (fast)", "seq_bytes"}: "0",
		{"timeout", "value"}:               "204000",
		{"ca_state", "to_state"}:           "loss",
		{"cc_change", "text"}:              `quo"te, and comma`,
		{"close", "reason"}:                "local_fin",
		{lostTrackName, "total"}:           "7",
		{"open", "from_state"}:             "syn_sent",
		{"open", "ssthresh_packets"}:       "", // infinite: no argument
		{"retransmit (fast)", "ca_state"}:  "recovery",
	} {
		if got := arguments[argument]; got != want {
			t.Errorf("argument %v is %q, want %q", argument, got, want)
		}
	}
}

// checkStateSlices: the state moves on every 400 rounds of 30 µs, open, disorder, cwr, recovery,
// open.
func checkStateSlices(t *testing.T, seen *perfettoSeen) {
	n := 0
	for _, s := range seen.Processor.Slices {
		if s.Flow != firstFlow {
			continue
		}
		n++
		if s.Name == "open" || s.N != 1 || s.Dur != 400*30_000 {
			t.Errorf("slice %+v", s)
		}
	}
	if n != 3 {
		t.Errorf("%d states have slices, want 3", n)
	}
}

func TestPerfettoWithChosenFieldsHasNoOtherCounters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pftrace")
	exportTo(t, Perfetto, path, 300, Options{Fields: []tcp.Field{tcp.RttUs, tcp.CAStateField}})
	var seen perfettoSeen
	runPython(t, &seen, "read_perfetto.py", path)
	for _, c := range seen.Processor.Counters {
		if c.Counter != "rtt_us" {
			t.Errorf("counter %s was not asked for", c.Counter)
		}
	}
	if len(seen.Processor.Counters) != 3 || len(seen.Processor.Problems) > 0 {
		t.Errorf("counters %v, problems %v", seen.Processor.Counters, seen.Processor.Problems)
	}
}

func TestPerfettoEndsASliceThatIsStillOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pftrace")
	exportTo(t, Perfetto, path, 1500, Options{}) // ends in disorder after 100 rounds
	var seen perfettoSeen
	runPython(t, &seen, "read_perfetto.py", path)
	for _, s := range seen.Processor.Slices {
		if s.Flow == firstFlow && (s.Name != "disorder" || s.Dur != 99*30_000) {
			t.Errorf("slice %+v", s)
		}
	}
	if len(seen.Processor.Slices) == 0 {
		t.Error("no slice")
	}
}

func TestPerfettoShowsTheRadio(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pftrace")
	x, err := New(Perfetto, path, testMeta, Options{})
	if err != nil {
		t.Fatal(err)
	}
	later := fullRecord()
	later.TimeNs += 100e6
	later.Values[tcp.RadioTxRateBps]++
	scan := &tcp.Radio{
		TimeNs: later.TimeNs, Kind: tcp.RadioScanStart, Interface: "wlan0", SSID: "a,b", Values: tcp.NoRadioValues(),
	}
	tid := fullRecord()
	tid.Kind = tcp.RadioTID
	for _, r := range []*tcp.Radio{fullRecord(), tid, later, scan} {
		if err := x.Radio(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	var seen perfettoSeen
	runPython(t, &seen, "read_perfetto.py", path)
	if len(seen.Processor.Problems) > 0 || len(seen.Definitions.Unknown) > 0 {
		t.Errorf("problems %v, unknown fields %v", seen.Processor.Problems, seen.Definitions.Unknown)
	}
	if n := len(seen.Processor.Counters); n != int(tcp.NumRadioFields) {
		t.Errorf("%d counters, want one for each of %d values", n, tcp.NumRadioFields)
	}
	for _, c := range seen.Processor.Counters {
		rate := c.Counter == "tx_rate_bps"
		if c.Flow != "radio wlan0 > 02:00:00:00:00:01" || rate && (c.N != 2 || c.Greatest != 102) || !rate && c.N != 1 {
			t.Errorf("counter %+v", c)
		}
	}
	if i := seen.Processor.Instants; len(i) != 1 || i[0].Name != "scan_start" || i[0].Category != categoryRadio ||
		i[0].Track != "radio wlan0" || i[0].TS != scan.TimeNs+bootOffsetNs {
		t.Errorf("instants %+v", i)
	}
	if a := seen.Processor.Arguments; len(a) != 1 || a[0].Name != "ssid" || a[0].Value != "a,b" {
		t.Errorf("arguments %+v", a)
	}
}
