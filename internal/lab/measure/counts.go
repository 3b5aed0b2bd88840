package measure

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"airtide/internal/cell"
	"airtide/internal/stats"
)

// Counts holds a cell's counters of flows and of the access point's queue at several times of a
// run. It gives rates in any part of the run.
type Counts struct {
	timesNs []int64
	// queued is the access point's queue, in packets by nanoseconds.
	queued []float64
	flows  map[string]*[2][]int64 // payload bytes forward and reverse
}

// Add appends the counters of a status. Statuses must arrive in order of time.
func (c *Counts) Add(s *cell.Status) {
	if c.flows == nil {
		c.flows = map[string]*[2][]int64{}
	}
	c.timesNs = append(c.timesNs, s.TimeNs)
	c.queued = append(c.queued, s.AP.Queue.Length.PacketNs)
	for i := range s.Flows {
		f := &s.Flows[i]
		if c.flows[f.Name] == nil {
			c.flows[f.Name] = &[2][]int64{}
		}
		series := c.flows[f.Name]
		series[0] = append(series[0], f.Forward.PayloadBytes)
		series[1] = append(series[1], f.Reverse.PayloadBytes)
	}
}

// TimeTolerance is the greatest share of a time by which the statuses at its ends may be off.
const TimeTolerance = 0.1

// Rates returns a flow's payload rates towards its port and from it, in Mbit/s. It uses the
// statuses nearest to the two times since time zero. The rates are NaN if the flow or a time is
// missing.
func (c *Counts) Rates(flow string, from, to time.Duration) (forward, reverse float64) {
	if c == nil || c.flows[flow] == nil {
		return math.NaN(), math.NaN()
	}
	series := c.flows[flow]
	i := c.nearest(int64(from))
	j := c.nearest(int64(to))
	ns := float64(c.timesNs[j] - c.timesNs[i])
	// A flow far shorter than the interval of the statuses has no rate.
	if i == j || math.Abs(ns-float64(to-from)) > TimeTolerance*float64(to-from) {
		return math.NaN(), math.NaN()
	}
	rate := func(bytes []int64) float64 { return float64(bytes[j]-bytes[i]) * 8e3 / ns }
	return rate(series[0]), rate(series[1])
}

// nearest returns the index of the status nearest in time.
func (c *Counts) nearest(ns int64) int {
	at, found := sort.Find(len(c.timesNs), func(i int) int { return cmp.Compare(ns, c.timesNs[i]) })
	if found {
		return at
	}
	at = min(at, len(c.timesNs)-1)
	if at > 0 && ns-c.timesNs[at-1] < c.timesNs[at]-ns {
		at--
	}
	return at
}

// apBacklog returns a quantile of the access point's backlog. Each interval between two statuses
// contributes its mean, weighted by its length. Without intervals the result is NaN.
func (c *Counts) apBacklog(quantile float64, from, to time.Duration) float64 {
	if c == nil || len(c.timesNs) < 2 {
		return math.NaN()
	}
	type mean struct{ packets, ns float64 }
	var means []mean
	for i := c.nearest(int64(from)) + 1; i <= c.nearest(int64(to)); i++ {
		if ns := float64(c.timesNs[i] - c.timesNs[i-1]); ns > 0 {
			means = append(means, mean{(c.queued[i] - c.queued[i-1]) / ns, ns})
		}
	}
	if len(means) == 0 {
		return math.NaN()
	}
	slices.SortFunc(means, func(a, b mean) int { return cmp.Compare(a.packets, b.packets) })
	packets := make([]float64, len(means))
	weights := make([]float64, len(means))
	for i, m := range means {
		packets[i] = m.packets
		weights[i] = m.ns
	}
	return stats.WeightedQuantile(packets, weights, quantile)
}
