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
	size    int       // number of bins
	bins    []peakBin // nil before the first bytes
	head    int64     // number of the newest bin: its time by binNs
	level   int64     // sum of the changes before the ring
	started bool
	peak    int64 // bytes
}

// peakBin is a bin of the ring. Bytes that moved over several bins change the level of their first
// bin and of the one behind their last, so that a long time takes no longer than a short one.
type peakBin struct {
	bytes  int64 // beyond the level
	change int64 // of the level, against the bin before
}

// NewPeakRate makes a PeakRate with a number of bins, a power of two above 10. More bins bridge
// more disorder in time.
// It takes the memory of the bins with the first bytes.
func NewPeakRate(bins int) *PeakRate { return &PeakRate{size: bins} }

// Reset forgets all bytes. It keeps the memory of the bins.
func (m *PeakRate) Reset() {
	clear(m.bins)
	*m = PeakRate{size: m.size, bins: m.bins}
}

// Spread adds bytes that moved between two times, evenly over the bins in between. Bins before the
// ring no longer count.
func (m *PeakRate) Spread(fromNs, toNs, bytes int64) {
	if bytes <= 0 {
		return
	}
	from := fromNs / binNs
	to := toNs / binNs
	if m.started && to <= m.head-int64(m.size) {
		return
	}
	if toNs-fromNs > binNs && to > from+1 {
		share := bytes / (to - from)
		m.reach(from + 1)
		m.at(max(from+1, m.oldest())).change += share
		m.reach(to)
		m.at(to).change -= share
		bytes -= share * (to - from - 1)
	}
	m.reach(to)
	m.at(to).bytes += bytes
}

func (m *PeakRate) at(bin int64) *peakBin { return &m.bins[bin&int64(len(m.bins)-1)] }

// oldest is the number of the oldest bin of the ring.
func (m *PeakRate) oldest() int64 { return m.head - int64(len(m.bins)) + 1 }

// reach makes a bin the newest one, unless the ring has it already.
func (m *PeakRate) reach(bin int64) {
	if !m.started {
		if m.bins == nil {
			m.bins = make([]peakBin, m.size)
		}
		m.head = bin
		m.started = true
	}
	if bin > m.head {
		m.advance(bin)
	}
}

// advance makes a bin the newest one and judges the bins that leave the ring.
func (m *PeakRate) advance(to int64) {
	oldest := m.oldest()
	level := m.level // at the end of the second that begins with the oldest bin
	var sum int64    // of that second
	for bin := oldest; bin < oldest+binsPerWindow; bin++ {
		level += m.at(bin).change
		sum += m.at(bin).bytes + level
	}
	for range min(int64(len(m.bins)), to-m.head) {
		m.peak = max(m.peak, sum)
		left := m.at(oldest)
		m.level += left.change
		sum -= left.bytes + m.level
		*left = peakBin{}
		next := m.at(oldest + binsPerWindow)
		level += next.change
		sum += next.bytes + level
		oldest++
	}
	m.head = to
}

// Bps returns the highest rate so far in bit/s.
func (m *PeakRate) Bps() float64 {
	if !m.started {
		return 0
	}
	end := *m
	end.bins = slices.Clone(m.bins)
	end.advance(m.head + int64(len(m.bins)))
	return float64(end.peak) * 8 * 1e9 / PeakWindowNs
}
