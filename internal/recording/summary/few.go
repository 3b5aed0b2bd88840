package summary

import (
	"encoding/binary"

	"airtide/internal/stats"
	"airtide/internal/tcp"
)

// maxFew is the length in bytes up to which a flow keeps its samples as they are. Measures take as
// much, and a server has many flows with few samples.
const maxFew = 2048

// measures are what the samples of a flow add up to.
type measures struct {
	sketches
	ackedPeak, receivedPeak *stats.PeakRate
	sums
}

// sketches are the distributions of round-trip times and windows.
type sketches struct{ rtt, srtt, cwnd, inFlight stats.Sketch }

func newSketches() sketches {
	return sketches{
		rtt: stats.NewSketch(), srtt: stats.NewSketch(), cwnd: stats.NewSketch(), inFlight: stats.NewSketch(),
	}
}

func (s *sketches) merge(o *sketches) {
	s.rtt.Merge(&o.rtt)
	s.srtt.Merge(&o.srtt)
	s.cwnd.Merge(&o.cwnd)
	s.inFlight.Merge(&o.inFlight)
}

// sums are the measures that are numbers.
type sums struct {
	delivered, lost, retransmits counter
	retransmittedBytes           counter
	minRtt                       int64
	merged                       Merged
	caNs                         [numCAStates]int64
	caOK                         bool
}

var noSums = sums{minRtt: tcp.Absent}

func newMeasures() *measures {
	return &measures{
		sketches: newSketches(), ackedPeak: stats.NewPeakRate(flowRateBins),
		receivedPeak: stats.NewPeakRate(flowRateBins), sums: noSums,
	}
}

func (m *measures) reset() {
	for _, s := range []*stats.Sketch{&m.rtt, &m.srtt, &m.cwnd, &m.inFlight} {
		s.Reset()
	}
	m.ackedPeak.Reset()
	m.receivedPeak.Reset()
	m.sums = noSums
}

// measured is the part of a sample that measures take.
type measured struct {
	sinceNs, timeNs           int64 // the bytes moved in between
	acked, received           int64 // bytes
	rtt, srtt, cwnd, inFlight int64

	minRtt, delivered, lost, retransmits int64
	retransmittedBytes, merged, caState  int64
}

// values are the values behind the times. Negative ones are absent.
func (v *measured) values() [13]*int64 {
	return [...]*int64{
		&v.acked, &v.received, &v.rtt, &v.srtt, &v.cwnd, &v.inFlight, &v.minRtt, &v.delivered, &v.lost,
		&v.retransmits, &v.retransmittedBytes, &v.merged, &v.caState,
	}
}

func (m *measures) add(v *measured) {
	m.ackedPeak.Spread(v.sinceNs, v.timeNs, v.acked)
	m.receivedPeak.Spread(v.sinceNs, v.timeNs, v.received)
	m.rtt.Add(v.rtt)
	m.srtt.Add(v.srtt)
	m.cwnd.Add(v.cwnd)
	m.inFlight.Add(v.inFlight)
	if v.minRtt >= 0 && (m.minRtt == tcp.Absent || v.minRtt < m.minRtt) {
		m.minRtt = v.minRtt
	}
	m.delivered.add(v.delivered)
	m.lost.add(v.lost)
	m.retransmits.add(v.retransmits)
	m.retransmittedBytes.add(v.retransmittedBytes)
	if v.merged > 0 {
		m.merged.Segments += v.merged
		m.merged.Samples++
	}
	// The state changes while the kernel processes an ACK, after the sample. So the state in a
	// sample has been valid since the previous sample.
	if v.caState >= 0 && v.caState < int64(numCAStates) {
		m.caNs[v.caState] += max(0, v.timeNs-v.sinceNs)
		m.caOK = true
	}
}

// few keeps samples as variable-length integers, some 20 bytes for each.
type few []byte

// put appends a sample. It begins where the last one ended, so that its length in time is enough.
func (f few) put(v *measured) few {
	f = binary.AppendVarint(f, v.timeNs-v.sinceNs)
	for _, n := range v.values() {
		f = binary.AppendUvarint(f, uint64(max(*n, -1))+1)
	}
	return f
}

// each calls do with each sample. firstNs is the time of the first one.
func (f few) each(firstNs int64, do func(*measured)) {
	var v measured
	for first := true; len(f) > 0; first = false {
		elapsed, length := binary.Varint(f)
		f = f[length:]
		v.sinceNs = v.timeNs
		if first {
			v.sinceNs = firstNs - elapsed
		}
		v.timeNs = v.sinceNs + elapsed
		for _, n := range v.values() {
			value, length := binary.Uvarint(f)
			f = f[length:]
			*n = int64(value) - 1
			if value == 0 {
				*n = tcp.Absent
			}
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
	f.few = f.few.put(v)
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
	sums
}

func (m *measures) results() *results {
	return &results{
		rtt: distributionOf(&m.rtt), srtt: spreadOf(&m.srtt), cwnd: spreadOf(&m.cwnd), inFlight: spreadOf(&m.inFlight),
		acked: m.ackedPeak.Bps(), received: m.receivedPeak.Bps(), sums: m.sums,
	}
}

// results returns the results of the flow's measures.
func (f *flow) results(scratch *measures) *results {
	if f.final != nil {
		return f.final
	}
	return f.measures(scratch).results()
}

// lengthOfResults is the memory in bytes that results need.
const lengthOfResults = 512

// finish keeps the results of the measures in their stead, if they need less memory.
func (f *flow) finish(m *measures) {
	if f.many == nil && cap(f.few) <= lengthOfResults {
		return
	}
	f.final = m.results()
	f.few = nil
	f.many = nil
}
