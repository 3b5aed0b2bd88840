package summary

import "slices"

// A peak is the highest rate over one second, found in steps of a tenth.
const (
	binNs         = 100_000_000
	binsPerWindow = 10
	windowNs      = binNs * binsPerWindow
	flowBins      = 16 // at least binsPerWindow, a power of two
	// totalBins bridges the disorder between flows, which is at most a flush period (one second)
	// either way.
	totalBins = 64
)

// rateMeter finds the most bytes in any one second. It keeps a ring of bins; the second that begins
// with a bin is judged as the bin leaves the ring.
type rateMeter struct {
	bins    []int64
	head    int64 // number of the newest bin: its time by binNs
	started bool
	peak    int64 // bytes
}

func newRateMeter(bins int) *rateMeter { return &rateMeter{bins: make([]int64, bins)} }

// spread adds bytes that moved between two times, evenly over the bins in between.
func (m *rateMeter) spread(fromNs, toNs, bytes int64) {
	if bytes <= 0 {
		return
	}
	from, to := fromNs/binNs, toNs/binNs
	if toNs-fromNs <= binNs || to <= from+1 {
		m.add(to, bytes)
		return
	}
	share := bytes / (to - from)
	// What lies further back than the ring can no longer count, and a long gap must not take long.
	for bin := max(from+1, to-int64(len(m.bins))+1); bin < to; bin++ {
		m.add(bin, share)
	}
	m.add(to, bytes-share*(to-from-1))
}

func (m *rateMeter) add(bin, bytes int64) {
	if !m.started {
		m.head, m.started = bin, true
	}
	if bin > m.head {
		m.advance(bin)
	}
	if m.head-bin < int64(len(m.bins)) {
		m.bins[bin&int64(len(m.bins)-1)] += bytes
	}
}

// advance makes a bin the newest one and judges those that leave.
func (m *rateMeter) advance(to int64) {
	n := int64(len(m.bins))
	for range min(n, to-m.head) {
		oldest := m.head - n + 1
		var sum int64
		for i := range int64(binsPerWindow) {
			sum += m.bins[(oldest+i)&(n-1)]
		}
		m.peak = max(m.peak, sum)
		m.bins[oldest&(n-1)] = 0
		m.head++
	}
	m.head = to
}

// peakBps is the highest rate so far in bit/s.
func (m *rateMeter) peakBps() float64 {
	end := rateMeter{bins: slices.Clone(m.bins), head: m.head, peak: m.peak}
	end.advance(m.head + int64(len(m.bins)))
	return float64(end.peak) * 8 * 1e9 / windowNs
}
