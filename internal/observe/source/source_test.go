package source

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
)

// kept is a sink that counts the samples of each flow.
type kept struct {
	tcp.Discard
	rows map[tcp.FlowID]int
}

func (k *kept) Samples(b *tcp.Batch) error {
	for _, id := range b.Flow {
		k.rows[id]++
	}
	return nil
}

// steady is a sample of a flow under way, of which some fields are as given.
func steady(after time.Duration, fields map[tcp.Field]int64) *tcp.Sample {
	s := &tcp.Sample{TimeNs: int64(time.Hour + after), Flow: 1}
	for f := range tcp.NumStored {
		s.Values[f] = tcp.Absent
	}
	for f, v := range map[tcp.Field]int64{
		tcp.StateField: int64(tcp.StateEstablished), tcp.CwndPackets: 10, tcp.SsthreshPackets: 7,
		tcp.CAStateField:   int64(tcp.CAOpen),
		tcp.LostOutPackets: 0, tcp.RetransmitsPackets: 3, tcp.Backoff: 0, tcp.SrttUs: 20_000, tcp.InFlightPackets: 10,
		tcp.BusyUs: 90_000, tcp.RwndLimitedUs: 40_000, tcp.SndbufLimitedUs: 20_000,
	} {
		s.Values[f] = v
	}
	for f, v := range fields {
		s.Values[f] = v
	}
	return s
}

// passing returns the samples that are let through. Each is a poll's.
func passing(t *testing.T, samples ...*tcp.Sample) (passed []bool) {
	t.Helper()
	k := &kept{rows: map[tcp.FlowID]int{}}
	c := newChanges(k)
	for _, s := range samples {
		b := tcp.NewBatch(2)
		other := *s
		other.Flow = 2
		other.Values = steady(0, nil).Values // beside a flow of which nothing changes
		b.Append(&other)
		b.Append(s)
		before := k.rows[1]
		if err := c.Samples(b); err != nil {
			t.Fatal(err)
		}
		passed = append(passed, k.rows[1] > before)
	}
	if k.rows[2] != 1 {
		t.Errorf("%d samples of a flow of which nothing changes, want its first", k.rows[2])
	}
	return passed
}

const poll = 100 * time.Millisecond

func TestWhatChangesMakesASample(t *testing.T) {
	for _, c := range []struct {
		name   string
		fields map[tcp.Field]int64
		want   bool
	}{
		{"cwnd", map[tcp.Field]int64{tcp.CwndPackets: 11}, true},
		{"ssthresh", map[tcp.Field]int64{tcp.SsthreshPackets: tcp.Absent}, true},
		{"the congestion state alone", map[tcp.Field]int64{tcp.CAStateField: int64(tcp.CADisorder)}, true},
		{"segments marked lost", map[tcp.Field]int64{tcp.LostOutPackets: 1}, true},
		{"a retransmission", map[tcp.Field]int64{tcp.RetransmitsPackets: 4}, true},
		{"the back-off", map[tcp.Field]int64{tcp.Backoff: 1}, true},
		{"the connection's state", map[tcp.Field]int64{tcp.StateField: int64(tcp.StateCloseWait)}, true},
		{
			"the peer's window becomes the limit",
			map[tcp.Field]int64{tcp.RwndLimitedUs: 44_000, tcp.BusyUs: 94_000},
			true,
		},
		{
			"the send buffer becomes the limit",
			map[tcp.Field]int64{tcp.SndbufLimitedUs: 24_000, tcp.BusyUs: 94_000},
			true,
		},
		{
			"what is no change",
			map[tcp.Field]int64{tcp.SrttUs: 30_000, tcp.InFlightPackets: 4, tcp.BusyUs: 190_000},
			false,
		},
		{"nothing", nil, false},
	} {
		got := passing(t, steady(0, nil), steady(poll, c.fields))
		want := []bool{true, c.want}
		if !slices.Equal(got, want) {
			t.Errorf("%s: samples let through %v, want %v", c.name, got, want)
		}
	}
}

// rwndLimited are samples of which the time limited by the peer's window is as given, in ms.
func rwndLimited(every time.Duration, ms ...int64) (samples []*tcp.Sample) {
	for i, n := range ms {
		samples = append(samples, steady(time.Duration(i)*every, map[tcp.Field]int64{tcp.RwndLimitedUs: 1000 * n}))
	}
	return samples
}

func TestALimitMakesASampleWhenItBeginsAndWhenItEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		samples []*tcp.Sample
		want    int
	}{
		{"polls", rwndLimited(poll, 40, 40, 60, 160, 260, 260, 260), 3},
		{
			"polls more often than the kernel's ticks of 4 ms",
			rwndLimited(time.Millisecond, 40, 40, 40, 40, 44, 44, 44, 44, 48, 48, 48, 48, 52, 52, 52, 52, 56, 56,
				56, 56, 60, 60, 60, 60, 64, 64, 64, 64, 68),
			2,
		},
		{"a kernel before 4.10, which tells of none", []*tcp.Sample{
			steady(0, map[tcp.Field]int64{tcp.RwndLimitedUs: tcp.Absent, tcp.SndbufLimitedUs: tcp.Absent}),
			steady(poll, map[tcp.Field]int64{tcp.RwndLimitedUs: tcp.Absent, tcp.SndbufLimitedUs: tcp.Absent}),
		}, 1},
	} {
		n := 0
		for _, passed := range passing(t, c.samples...) {
			if passed {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%s: %d samples, want %d", c.name, n, c.want)
		}
	}
}

func TestAFlowThatIsClosedIsForgotten(t *testing.T) {
	c := newChanges(tcp.Discard{})
	b := tcp.NewBatch(1)
	b.Append(steady(0, nil))
	if err := c.Samples(b); err != nil {
		t.Fatal(err)
	}
	if err := c.Event(&tcp.Event{Kind: tcp.EventClose, Flow: 1}); err != nil {
		t.Fatal(err)
	}
	if len(c.last) != 0 {
		t.Errorf("%d flows are remembered", len(c.last))
	}
}

// The BPF programs and this package compare the same values, by different names.
func TestBothSourcesCallTheSameAChange(t *testing.T) {
	const programs = "../../../bpf/monitor/sample.h"
	text, err := os.ReadFile(programs)
	if err != nil {
		t.Fatal(err)
	}
	compared := map[string]bool{}
	for _, m := range regexp.MustCompile(`fs->(\w+) == `).FindAllStringSubmatch(string(text), -1) {
		compared[m[1]] = true
	}
	here := map[string]tcp.Field{
		"cwnd": tcp.CwndPackets, "ssthresh": tcp.SsthreshPackets, "lost": tcp.LostOutPackets,
		"total_retrans": tcp.RetransmitsPackets,
		"backoff":       tcp.Backoff, "sampled_ca_state": tcp.CAStateField,
	}
	for name, f := range here {
		if !slices.Contains(changing[:], f) {
			t.Errorf("%s, which stands for %s of %s, makes no sample", f, name, programs)
		}
	}
	want := slices.Collect(maps.Keys(here))
	want = append(want, "limit")
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(compared)); !slices.Equal(got, want) {
		t.Errorf("%s compares %v, this package knows of %v", programs, got, want)
	}
}

func TestTheIntervalIsThatOfThePolls(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    time.Duration
	}{
		{Options{}, 100 * time.Millisecond},
		{Options{Poll: 30 * time.Millisecond}, 30 * time.Millisecond},
		{
			Options{Poll: 30 * time.Millisecond, Density: filter.Density{Mode: filter.AtMost, Every: 2 * time.Second}},
			2 * time.Second,
		},
		{
			Options{Poll: 3 * time.Second, Density: filter.Density{Mode: filter.AtMost, Every: 2 * time.Second}},
			3 * time.Second,
		},
	} {
		c.options.Source = Diag
		o, err := Open(c.options)
		if err != nil {
			t.Fatal(err)
		}
		if o.Interval != c.want {
			t.Errorf("poll %s, density %s: every %s, want %s", c.options.Poll, c.options.Density, o.Interval, c.want)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTwoSourcesThatFailAreOneLine(t *testing.T) {
	tooLong := filter.Filter{Ports: make([]uint16, filter.MaxPorts+1)}
	for _, c := range []struct {
		name      string
		bpf, diag error
		want      string
	}{
		{
			"for two reasons", fmt.Errorf("opening the bpf source: %w", os.ErrPermission),
			fmt.Errorf("opening the diag source: %w", os.ErrNotExist),
			"opening the bpf source: permission denied; opening the diag source: file does not exist",
		},
		{
			"for one reason", fmt.Errorf("opening the bpf source: %w", tooLong.Check()),
			fmt.Errorf("opening the diag source: %w", tooLong.Check()),
			"opening the bpf or the diag source: " + tooLong.Check().Error(),
		},
	} {
		if got := neither(c.bpf, c.diag); got.Error() != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if err := neither(os.ErrPermission, os.ErrNotExist); !errors.Is(err, os.ErrPermission) ||
		!errors.Is(err, os.ErrNotExist) {
		t.Errorf("%q does not wrap both", err)
	}
	if o, err := Open(Options{Source: Auto, Filter: tooLong}); err == nil {
		o.Close()
		t.Error("opened with a filter that is too long")
	} else if text := err.Error(); strings.Contains(text, "\n") || strings.Count(text, "at most") != 1 {
		t.Errorf("%q, want one line that says it once", text)
	}
}
