package result

import (
	"airtide/internal/cell"
	"airtide/internal/lab/plan"
)

// Goodput is the goodput in a window, in Mbit/s.
type Goodput struct {
	// Flows are the flows that have a goodput, by name.
	Flows map[string]float64
	// Machines are the sums over the flows of each machine.
	Machines map[string]float64
}

// Goodput adds up the goodput of a window of the run.
func (r *Result) Goodput(w *cell.Window) Goodput {
	g := Goodput{map[string]float64{}, map[string]float64{}}
	counted := map[string]cell.FlowWindow{}
	for _, f := range w.Flows {
		counted[f.Name] = f
	}
	for _, f := range r.Flows {
		rates, ok := counted[f.Name]
		if !ok {
			continue
		}
		flow := plan.Flow{Protocol: plan.Protocol(f.Protocol), Direction: plan.Direction(f.Direction)}
		mbps, ok := flow.Goodput(rates.ForwardMbps, rates.ReverseMbps)
		if !ok {
			continue
		}
		g.Flows[f.Name] = mbps
		g.Machines[f.From] += mbps
		g.Machines[f.To] += mbps
	}
	return g
}
