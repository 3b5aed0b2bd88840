package stats

import "slices"

const (
	binNs         = 100_000_000
	binsPerWindow = 10
	// PeakWindowNs is the time over which a peak rate is taken.
	PeakWindowNs = binNs * binsPerWindow
)

// PeakRate finds the most bytes in any one second. It keeps a ring of bins of a tenth of a second
// each. The second that begins with a bin is judged when the bin leaves the ring.
type PeakRate struct {
	size    int     // number of bins
	bins    []int64 // nil before the first bytes
	head    int64   // number of the newest bin: its time by binNs
	started bool
	peak    int64 // bytes
}

// NewPeakRate makes a PeakRate with a number of bins, a power of two above 10. More bins bridge
// more disorder in time.
// It takes the memory of the bins with the first bytes.
func NewPeakRate(bins int) *PeakRate { return &PeakRate{size: bins} }

// Reset forgets all bytes. It keeps the memory of the bins.
func (m *PeakRate) Reset() {
	clear(m.bins)
	m.started = false
	m.peak = 0
}

// Spread adds bytes that moved between two times, evenly over the bins in between.
func (m *PeakRate) Spread(fromNs, toNs, bytes int64) {
	if bytes <= 0 {
		return
	}
	from := fromNs / binNs
	to := toNs / binNs
	if toNs-fromNs <= binNs || to <= from+1 {
		m.add(to, bytes)
		return
	}
	share := bytes / (to - from)
	// Bins before the ring no longer count, and a long gap must not take long.
	for bin := max(from+1, to-int64(m.size)+1); bin < to; bin++ {
		m.add(bin, share)
	}
	m.add(to, bytes-share*(to-from-1))
}

func (m *PeakRate) add(bin, bytes int64) {
	if !m.started {
		if m.bins == nil {
			m.bins = make([]int64, m.size)
		}
		m.head = bin
		m.started = true
	}
	if bin > m.head {
		m.advance(bin)
	}
	if m.head-bin < int64(len(m.bins)) {
		m.bins[bin&int64(len(m.bins)-1)] += bytes
	}
}

// advance makes a bin the newest one and judges the bins that leave the ring.
func (m *PeakRate) advance(to int64) {
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

// Bps returns the highest rate so far in bit/s.
func (m *PeakRate) Bps() float64 {
	if !m.started {
		return 0
	}
	end := PeakRate{bins: slices.Clone(m.bins), head: m.head, peak: m.peak}
	end.advance(m.head + int64(len(m.bins)))
	return float64(end.peak) * 8 * 1e9 / PeakWindowNs
}
