package measure

import (
	"math"
	"time"

	"airtide/internal/lab/plan"
	"airtide/internal/share/allocate"
	"airtide/internal/share/fairness"
)

// cell returns a quantity of the whole cell.
func (r *Run) cell(m plan.Measurement) float64 {
	switch m.Quantity {
	case "distance":
		return r.distance(m)
	case "ap_backlog_p95":
		return r.Counts.apBacklog(0.95, time.Duration(r.Setup.Warmup), time.Duration(r.Setup.Duration))
	}
	return math.NaN()
}

// distance returns the distance, in nats, of the terminals' goodput from the proportionally fair
// optimum. For bidirectional data both wires count.
func (r *Run) distance(m plan.Measurement) float64 {
	c := fairness.Case{Alpha: allocate.Proportional}
	place := map[string]int{}
	var up, down bool
	for i := range r.Setup.Flows {
		f := &r.Setup.Flows[i]
		if !plan.Quantity("goodput").Suits(f.Flow.Protocol) {
			continue
		}
		terminal := r.terminalOf(f)
		at, known := place[terminal]
		if !known {
			at = len(c.Rates)
			place[terminal] = at
			c.Max = append(c.Max, r.alone(terminal))
			c.Names = append(c.Names, terminal)
			c.Rates = append(c.Rates, 0)
		}
		c.Rates[at] += r.goodput(m, f)
		goesUp, goesDown := r.ways(f)
		up = up || goesUp
		down = down || goesDown
	}
	c.Wire = r.wires(up, down)
	in, err := fairness.Of(c)
	if err != nil { // a rate or a maximum is unknown
		return math.NaN()
	}
	return float64(in.Distance)
}
