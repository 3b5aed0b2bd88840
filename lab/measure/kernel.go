package measure

import (
	"cmp"
	"errors"
	"math"
	"net/netip"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"airtide/lab/plan"
	"airtide/tcp"
	"airtide/trace"
)

// Sender says how a flow's sending connections are found in a recording.
type Sender struct {
	Flow string
	// Addresses of the machines that send data.
	Addresses []netip.Addr
	// Port at either end.
	Port uint16
	// Connections that carry data, for each machine that sends: those with the most bytes acknowledged count, so that
	// iperf3's connection for its own messages does not. 0 means all.
	Connections int
}

// Kernel is what the kernel's recording says of a flow's senders in the measured time.
type Kernel struct {
	// SrttMs and CwndPackets are means over time, and over connections where there are several.
	SrttMs, CwndPackets float64
	// MaxCwndPackets is the largest of any connection; the rest are sums.
	MaxCwndPackets                         float64
	Retransmits, Timeouts, LocalCongestion int64
}

func (k Kernel) value(q plan.Quantity) float64 {
	switch q {
	case "srtt":
		return k.SrttMs
	case "cwnd":
		return k.CwndPackets
	case "max_cwnd":
		return k.MaxCwndPackets
	case "retransmits":
		return float64(k.Retransmits)
	case "timeouts":
		return float64(k.Timeouts)
	case "local_congestion":
		return float64(k.LocalCongestion)
	}
	return math.NaN()
}

// ReadKernel reads the senders' connections from a recording. zeroNs is time zero of the run by CLOCK_MONOTONIC, and from
// and to count from it. A flow without a connection is not in the result. damage says what the recording lacks, empty
// when it is whole.
func ReadKernel(path string, zeroNs int64, from, to time.Duration, senders []Sender) (of map[string]Kernel, damage string, err error) {
	r, err := trace.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	s := &scan{from: zeroNs + int64(from), to: zeroNs + int64(to), of: map[tcp.FlowID]*connection{}}
	fields := []tcp.Field{tcp.SrttUs, tcp.CwndPackets, tcp.AckedBytes}
	if err := r.Scan(trace.ScanOptions{Fields: fields, ToNs: s.to}, s); err != nil {
		return nil, "", err
	}
	if d := r.Damage(); !d.Whole() {
		damage = d.String()
	}
	of = map[string]Kernel{}
	for _, sender := range senders {
		if all := s.connections(sender); len(all) > 0 {
			of[sender.Flow] = together(all)
		}
	}
	return of, damage, nil
}

// connection is one socket in the recording.
type connection struct {
	flow        tcp.Flow
	acked       int64
	srtt, cwnd  overTime
	retransmits int64
	codes       [tcp.NumErrorCodes]int64
	toNs        int64 // its end, or that of the measured time
}

// overTime is the mean of a value that holds until the next one.
type overTime struct {
	sum, ns     float64
	last, since int64
	most        int64
	known       bool
}

func (o *overTime) add(atNs, value int64) {
	if value == tcp.Absent {
		return
	}
	if o.known {
		o.sum += float64(o.last) * float64(atNs-o.since)
		o.ns += float64(atNs - o.since)
	}
	o.last, o.since, o.known = value, atNs, true
	o.most = max(o.most, value)
}

// mean up to a time.
func (o *overTime) mean(toNs int64) float64 {
	if !o.known {
		return math.NaN()
	}
	rest := float64(max(toNs-o.since, 0))
	if o.ns+rest == 0 {
		return float64(o.last)
	}
	return (o.sum + float64(o.last)*rest) / (o.ns + rest)
}

// scan is a sink that keeps what Kernel needs.
type scan struct {
	tcp.Discard
	from, to int64
	of       map[tcp.FlowID]*connection
}

func (s *scan) connection(id tcp.FlowID) *connection {
	if s.of[id] == nil {
		s.of[id] = &connection{toNs: s.to}
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
		// What held at the beginning was said before it.
		at := max(b.TimeNs[i], s.from)
		c.srtt.add(at, b.At(tcp.SrttUs, i))
		c.cwnd.add(at, b.At(tcp.CwndPackets, i))
		if b.TimeNs[i] < s.from {
			c.srtt.most, c.cwnd.most = 0, 0
		}
	}
	return nil
}

func (s *scan) Event(e *tcp.Event) error {
	c := s.connection(e.Flow)
	if e.TimeNs < s.from {
		if e.Kind == tcp.EventClose {
			delete(s.of, e.Flow) // it was over before
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

// connections are those of a sender, the ones with the most data first.
func (s *scan) connections(of Sender) []*connection {
	var all []*connection
	for _, address := range of.Addresses {
		var here []*connection
		for _, c := range s.of {
			if c.flow.Local.Addr().Unmap() == address && (c.flow.Local.Port() == of.Port || c.flow.Remote.Port() == of.Port) {
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

func together(all []*connection) Kernel {
	var k Kernel
	var srtt, cwnd, most []float64
	for _, c := range all {
		if c.srtt.known {
			srtt = append(srtt, c.srtt.mean(c.toNs)/1e3)
		}
		if c.cwnd.known {
			cwnd, most = append(cwnd, c.cwnd.mean(c.toNs)), append(most, float64(max(c.cwnd.most, c.cwnd.last)))
		}
		k.Retransmits += c.retransmits
		k.Timeouts += c.codes[tcp.CodeTimeout]
		k.LocalCongestion += c.codes[tcp.CodeLocalCongestion]
	}
	k.SrttMs, k.CwndPackets, k.MaxCwndPackets = stat.Mean(srtt, nil), stat.Mean(cwnd, nil), math.NaN()
	if len(most) > 0 {
		k.MaxCwndPackets = floats.Max(most)
	}
	return k
}
