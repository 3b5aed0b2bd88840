package result

import (
	"airtide/internal/cell"
	"airtide/internal/lab/plan"
)

// Goodput is the goodput in a window, in Mbit/s.
type Goodput struct {
	// Flows maps the names of the flows with a goodput to their goodput.
	Flows map[string]float64
	// Machines maps each machine to the sum over its flows.
	Machines map[string]float64
}

// Goodput computes the goodput in a window of the run.
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
