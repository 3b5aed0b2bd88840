package summary

import (
	"encoding/binary"

	"airtide/internal/stats"
)

// maxFew is the length in bytes up to which a flow keeps its samples as they are. Sketches and
// rings of bins take as much, and a server has many flows with few samples.
const maxFew = 2048

// measures are the values of a flow's samples that need more memory than a number.
type measures struct {
	rtt, srtt, cwnd, inFlight stats.Sketch
	acked, received           *stats.PeakRate
}

func newMeasures() *measures {
	m := &measures{acked: stats.NewPeakRate(flowRateBins), received: stats.NewPeakRate(flowRateBins)}
	for _, s := range []*stats.Sketch{&m.rtt, &m.srtt, &m.cwnd, &m.inFlight} {
		*s = stats.NewSketch()
	}
	return m
}

func (m *measures) reset() {
	for _, s := range []*stats.Sketch{&m.rtt, &m.srtt, &m.cwnd, &m.inFlight} {
		s.Reset()
	}
	m.acked.Reset()
	m.received.Reset()
}

// measured is the part of a sample that measures take.
type measured struct {
	sinceNs, timeNs           int64 // the bytes moved in between
	acked, received           int64 // bytes
	rtt, srtt, cwnd, inFlight int64
}

func (m *measures) add(v *measured) {
	m.acked.Spread(v.sinceNs, v.timeNs, v.acked)
	m.received.Spread(v.sinceNs, v.timeNs, v.received)
	m.rtt.Add(v.rtt)
	m.srtt.Add(v.srtt)
	m.cwnd.Add(v.cwnd)
	m.inFlight.Add(v.inFlight)
}

// few keeps samples as variable-length integers, some 15 bytes for each.
type few []byte

// put appends a sample. Times are relative to a start.
func (f few) put(v *measured, startNs int64) few {
	f = binary.AppendVarint(f, v.sinceNs-startNs)
	f = binary.AppendVarint(f, v.timeNs-startNs)
	for _, n := range []int64{v.acked, v.received, v.rtt, v.srtt, v.cwnd, v.inFlight} {
		f = binary.AppendUvarint(f, uint64(max(n, -1))+1) // negative values are absent ones
	}
	return f
}

// each calls do with each sample.
func (f few) each(startNs int64, do func(*measured)) {
	for len(f) > 0 {
		var v measured
		for _, n := range []*int64{&v.sinceNs, &v.timeNs} {
			relative, length := binary.Varint(f)
			*n = startNs + relative
			f = f[length:]
		}
		for _, n := range []*int64{&v.acked, &v.received, &v.rtt, &v.srtt, &v.cwnd, &v.inFlight} {
			value, length := binary.Uvarint(f)
			*n = int64(value - 1)
			f = f[length:]
		}
		do(&v)
	}
}

// measure takes a sample: as it is while there are few, into measures from then on.
func (f *flow) measure(v *measured) {
	if f.many == nil && len(f.few) > maxFew {
		f.many = newMeasures()
		f.few.each(f.firstSampleNs, f.many.add)
		f.few = nil
	}
	if f.many != nil {
		f.many.add(v)
		return
	}
	f.few = f.few.put(v, f.firstSampleNs)
}

// measures returns the measures of all samples so far. They are in scratch, if there are few.
func (f *flow) measures(scratch *measures) *measures {
	if f.many != nil {
		return f.many
	}
	scratch.reset()
	f.few.each(f.firstSampleNs, scratch.add)
	return scratch
}

// results are the results of a flow's measures.
type results struct {
	rtt                  *Distribution
	srtt, cwnd, inFlight *Spread
	acked, received      float64 // peak rates in bit/s
}

func (m *measures) results() *results {
	return &results{
		rtt: distributionOf(&m.rtt), srtt: spreadOf(&m.srtt), cwnd: spreadOf(&m.cwnd), inFlight: spreadOf(&m.inFlight),
		acked: m.acked.Bps(), received: m.received.Bps(),
	}
}

// results returns the results of the flow's measures.
func (f *flow) results(scratch *measures) *results {
	if f.final != nil {
		return f.final
	}
	return f.measures(scratch).results()
}

// finish keeps the results of the measures in their stead.
func (f *flow) finish(r *results) {
	f.final = r
	f.few = nil
	f.many = nil
}
