package stats

import "math"

// TimeMean averages over time a value that holds until the next one. The zero value has seen
// nothing.
type TimeMean struct {
	sum, ns     float64
	last, since int64
	greatest    int64
	known       bool
}

// Add notes that the value changes at a time. Times do not go backwards.
func (m *TimeMean) Add(atNs, value int64) {
	if m.known {
		m.sum += float64(m.last) * float64(atNs-m.since)
		m.ns += float64(atNs - m.since)
	}
	m.last = value
	m.since = atNs
	m.known = true
	m.greatest = max(m.greatest, value)
}

// Mean returns the mean from the first value to a time, NaN without values.
func (m *TimeMean) Mean(toNs int64) float64 {
	if !m.known {
		return math.NaN()
	}
	rest := float64(max(toNs-m.since, 0))
	if m.ns+rest == 0 {
		return float64(m.last)
	}
	return (m.sum + float64(m.last)*rest) / (m.ns + rest)
}

// Last returns the last value, NaN without values.
func (m *TimeMean) Last() float64 {
	if !m.known {
		return math.NaN()
	}
	return float64(m.last)
}

// Greatest returns the greatest value since the last RestartGreatest, NaN without values.
func (m *TimeMean) Greatest() float64 {
	if !m.known {
		return math.NaN()
	}
	return float64(max(m.greatest, m.last))
}

// RestartGreatest forgets greater values than the last one.
func (m *TimeMean) RestartGreatest() { m.greatest = 0 }
