package summary

import "airtide/internal/stats"

// distributionOf returns the quantiles of values, nil without values.
func distributionOf(s *stats.Sketch) *Distribution {
	q := s.Quantiles(0.5, 0.95, 0.99)
	if q == nil {
		return nil
	}
	least, greatest, _ := s.Extremes()
	return &Distribution{Min: least, Median: q[0], P95: q[1], P99: q[2], Max: greatest}
}

// spreadOf returns the extremes and the median of values, nil without values.
func spreadOf(s *stats.Sketch) *Spread {
	q := s.Quantiles(0.5)
	if q == nil {
		return nil
	}
	least, greatest, _ := s.Extremes()
	return &Spread{Min: least, Median: q[0], Max: greatest}
}
