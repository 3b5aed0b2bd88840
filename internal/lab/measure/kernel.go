package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"airtide/internal/diagnose"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/recording/trace"
	"airtide/internal/stats"
	"airtide/internal/tcp"
)

// Kernel has quantities of a flow's senders in the measured time, from the kernel's recording.
// Means are over time and over connections; counts are sums. A quantity that the recording lacks is
// NaN.
type Kernel map[plan.Quantity]float64

// Faults are the defects of a recording.
type Faults struct {
	// Damage describes its gaps; empty if it is whole.
	Damage string
	// Window describes a congestion window that no congestion control sets; empty if there is none.
	Window string
}

// maxWindow is the greatest window that the window scale allows (RFC 7323, 2^30 bytes), in segments
// of the smallest usual size (RFC 9293, 536 bytes).
const maxWindow = 1 << 30 / 536

// ReadKernel reads the senders' connections from a recording, by its clock. The arguments from and
// to and the results count from time zero in real time. A flow without a connection is missing in
// the result. The limits of rates are NaN unless they are wanted: the diagnosis costs more than the
// rest.
func ReadKernel(
	path string, clock result.Clock, from, to time.Duration, senders []Sender, limits bool,
) (of map[string]Kernel, faults Faults, err error) {
	r, err := trace.Open(path)
	if err != nil {
		return nil, faults, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	s := &scan{
		from: clock.At(from), to: clock.At(to), of: map[tcp.FlowID]*connection{},
	}
	fields := []tcp.Field{
		tcp.SrttUs, tcp.RttUs, tcp.CwndPackets, tcp.AckedBytes, tcp.CAStateField, tcp.CubicKMs, tcp.SendWindowBytes,
		tcp.BusyUs, tcp.RwndLimitedUs, tcp.SndbufLimitedUs,
	}
	sinks := tcp.Tee{s}
	if limits {
		s.diagnosis = diagnose.New(diagnose.Options{Source: diagnose.SourceOf(r.Metadata().Source)})
		sinks = append(sinks, s.diagnosis)
		fields = append(fields, diagnose.Fields()...)
	}
	slices.Sort(fields)
	options := trace.ScanOptions{Fields: slices.Compact(fields), ToNs: s.to}
	if err := r.Scan(context.Background(), options, sinks); err != nil {
		return nil, faults, err
	}
	if d := r.Damage(); !d.Whole() {
		faults.Damage = d.String()
	}
	if s.window > maxWindow {
		faults.Window = fmt.Sprintf("a congestion window has %d packets, more than TCP ever needs (%d): "+
			"the kernel left out a call of a congestion control", s.window, maxWindow)
	}
	if limits {
		for id, c := range s.of {
			c.limits = limitsOf(s.diagnosis, id, s.from)
		}
	}
	of = map[string]Kernel{}
	for _, sender := range senders {
		if all := s.connections(sender); len(all) > 0 {
			of[sender.Flow] = combine(all)
			for _, q := range times {
				of[sender.Flow][q] /= clock.Ratio
			}
		}
	}
	return of, faults, nil
}

// times lists the quantities whose values are times.
var times = []plan.Quantity{"srtt", "rtt_p95", "cubic_k"}

// connection is one socket in the recording.
type connection struct {
	flow                              tcp.Flow
	acked                             int64
	srtt, cwnd, state, cubicK, window timeMean
	rtts                              stats.Sketch // us
	windowCuts                        windowCuts
	busy, rwndLimited, sndbufLimited  growth
	retransmits                       int64
	codes                             [tcp.NumErrorCodes]int64
	limits                            map[plan.Quantity]float64
	toNs                              int64 // its end, or that of the measured time
}

// scan is a sink that collects the data for Kernel.
type scan struct {
	tcp.Discard
	from, to int64
	of       map[tcp.FlowID]*connection
	window   int64 // the greatest of all, in packets
	// diagnosis names the limits of rates; nil if they are not wanted.
	diagnosis *diagnose.Engine
}

func (s *scan) connection(id tcp.FlowID) *connection {
	if s.of[id] == nil {
		s.of[id] = &connection{toNs: s.to, rtts: stats.NewSketch()}
	}
	return s.of[id]
}

func (s *scan) Flow(f *tcp.Flow) error {
	s.connection(f.ID).flow = *f
	return nil
}

func (s *scan) Samples(b *tcp.Batch) error {
	for i := range b.Len() {
		c := s.connection(b.Flow[i])
		c.acked = max(c.acked, b.At(tcp.AckedBytes, i))
		// An earlier record holds the state at the beginning.
		at := max(b.TimeNs[i], s.from)
		before := b.TimeNs[i] < s.from
		c.srtt.add(at, b.At(tcp.SrttUs, i))
		if rtt := b.At(tcp.RttUs, i); rtt != tcp.Absent && !before {
			c.rtts.Add(rtt)
		}
		s.window = max(s.window, b.At(tcp.CwndPackets, i))
		c.cwnd.add(at, b.At(tcp.CwndPackets, i))
		c.state.add(at, b.At(tcp.CAStateField, i))
		c.cubicK.add(at, b.At(tcp.CubicKMs, i))
		c.window.add(at, b.At(tcp.SendWindowBytes, i))
		c.busy.add(before, b.At(tcp.BusyUs, i))
		c.rwndLimited.add(before, b.At(tcp.RwndLimitedUs, i))
		c.sndbufLimited.add(before, b.At(tcp.SndbufLimitedUs, i))
		c.windowCuts.add(before, b.At(tcp.CAStateField, i), b.At(tcp.CwndPackets, i))
		if before {
			c.cwnd.RestartGreatest()
		}
	}
	return nil
}

func (s *scan) Event(e *tcp.Event) error {
	c := s.connection(e.Flow)
	if e.TimeNs < s.from {
		if e.Kind == tcp.EventClose {
			delete(s.of, e.Flow) // it ended before
		}
		return nil
	}
	c.codes[e.Code]++
	switch e.Kind {
	case tcp.EventRetransmit:
		c.retransmits += e.Value
	case tcp.EventClose:
		c.toNs = e.TimeNs
	}
	return nil
}

// connections returns the connections of a sender, with the most data first.
func (s *scan) connections(of Sender) []*connection {
	var all []*connection
	for _, address := range of.Addresses {
		var here []*connection
		for _, c := range s.of {
			if c.flow.Local.Addr().Unmap() == address && of.Sends(&c.flow) {
				here = append(here, c)
			}
		}
		slices.SortFunc(here, func(a, b *connection) int {
			return cmp.Or(cmp.Compare(b.acked, a.acked), cmp.Compare(a.flow.ID, b.flow.ID))
		})
		if of.Connections > 0 && len(here) > of.Connections {
			here = here[:of.Connections]
		}
		all = append(all, here...)
	}
	return all
}

func combine(all []*connection) Kernel {
	mean := func(of func(*connection) float64) float64 {
		var known []float64
		for _, c := range all {
			if v := of(c); !math.IsNaN(v) {
				known = append(known, v)
			}
		}
		return stat.Mean(known, nil)
	}
	over := func(o func(*connection) *timeMean, unit float64) float64 {
		return mean(func(c *connection) float64 { return o(c).Mean(c.toNs) / unit })
	}
	limited := func(o func(*connection) *growth) float64 {
		return mean(func(c *connection) float64 { return 100 * o(c).value() / c.busy.value() })
	}
	k := Kernel{
		"srtt":           over(func(c *connection) *timeMean { return &c.srtt }, 1e3),
		"rtt_p95":        mean(func(c *connection) float64 { return percentile95(&c.rtts) / 1e3 }),
		"cwnd":           over(func(c *connection) *timeMean { return &c.cwnd }, 1),
		"ca_state":       over(func(c *connection) *timeMean { return &c.state }, 1),
		"cubic_k":        over(func(c *connection) *timeMean { return &c.cubicK }, 1e3),
		"send_window":    over(func(c *connection) *timeMean { return &c.window }, 1e3),
		"end_cwnd":       mean(func(c *connection) float64 { return c.cwnd.Last() }),
		"cwnd_kept":      mean(func(c *connection) float64 { return 100 * c.windowCuts.kept() }),
		"rwnd_limited":   limited(func(c *connection) *growth { return &c.rwndLimited }),
		"sndbuf_limited": limited(func(c *connection) *growth { return &c.sndbufLimited }),
		"max_cwnd":       math.NaN(),
	}
	for _, q := range limitQuantities {
		k[q] = mean(func(c *connection) float64 {
			if c.limits == nil {
				return math.NaN()
			}
			return c.limits[q]
		})
	}
	var most []float64
	for _, c := range all {
		if greatest := c.cwnd.Greatest(); !math.IsNaN(greatest) {
			most = append(most, greatest)
		}
		k["retransmits"] += float64(c.retransmits)
		k["reordering"] += float64(c.codes[tcp.CodeReordering])
		k["local_congestion"] += float64(c.codes[tcp.CodeLocalCongestion])
		k["duplicate_acks"] += float64(c.codes[tcp.CodeDupAck])
		k["timeouts"] += float64(c.codes[tcp.CodeTimeout])
	}
	if len(most) > 0 {
		k["max_cwnd"] = floats.Max(most)
	}
	return k
}

// percentile95 has the relative error stats.SketchAccuracy; NaN without values. It uses a sketch,
// because a recording may have millions of round trips and the memory must be bounded.
func percentile95(rtts *stats.Sketch) float64 {
	if of := rtts.Quantiles(0.95); of != nil {
		return float64(of[0])
	}
	return math.NaN()
}
