package measure

import (
	"math"
	"slices"

	"airtide/internal/cell"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// Run is the data of a run.
type Run struct {
	Setup *plan.Setup
	// Flows in the order of the setup.
	Flows []result.Flow
	// Machines with their counters.
	Machines []result.Machine
	// Window has the cell's counters from warm-up to the end; nil if the run ended before.
	Window *cell.Window
	// Counts are the cell's counters of flows over the whole run.
	Counts *Counts
	// Kernel has the recorded quantities of the flows' senders, by flow; nil without a recording.
	Kernel map[string]Kernel
}

// Take returns the values of measurements. A value that the run does not have is NaN.
func (r *Run) Take(all plan.Named[plan.Measurement]) map[string]result.Measurement {
	taken := map[string]result.Measurement{}
	for _, m := range all {
		var of []string
		var each []float64
		switch {
		case m.Value.Quantity.OfCell():
			of = []string{"cell"}
			each = []float64{r.cell(m.Value)}
		case m.Value.Quantity.OfFlows():
			for i := range r.Setup.Flows {
				if f := &r.Setup.Flows[i]; r.ofFlow(m.Value, f) {
					of = append(of, f.Name)
					each = append(each, r.flow(m.Value, i))
				}
			}
		default:
			for i := range r.Setup.Terminals {
				if t := &r.Setup.Terminals[i]; len(m.Value.Terminals) == 0 || r.names(m.Value.Terminals, t.Name) {
					of = append(of, t.Name)
					each = append(each, r.terminal(m.Value.Quantity, t.Name))
				}
			}
		}
		taken[m.Name] = result.NewMeasurement(m.Value, of, each)
	}
	return taken
}

// ofFlow reports whether a measurement covers a flow. The flow's protocol must have the quantity.
// If the measurement names flows or terminals, the flow must match them.
func (r *Run) ofFlow(m plan.Measurement, f *plan.FlowSetup) bool {
	if !m.Quantity.Suits(f.Flow.Protocol) {
		return false
	}
	if len(m.Flows) > 0 && !slices.Contains(m.Flows, f.Group) && !slices.Contains(m.Flows, f.Name) {
		return false
	}
	return len(m.Terminals) == 0 || r.names(m.Terminals, f.From) || r.names(m.Terminals, f.To)
}

// names reports whether a list of terminals and groups contains a terminal or its group.
func (r *Run) names(list plan.Names, machine string) bool {
	return slices.ContainsFunc(r.Setup.Terminals, func(t plan.TerminalSetup) bool {
		return t.Name == machine && (slices.Contains(list, t.Name) || slices.Contains(list, t.Group))
	})
}

// terminal returns a quantity of one terminal.
func (r *Run) terminal(q plan.Quantity, name string) float64 {
	if names, counted := counters[q]; counted {
		return r.counted(names, name)
	}
	if r.Window == nil {
		return math.NaN()
	}
	i := slices.IndexFunc(r.Window.Terminals, func(t cell.TerminalWindow) bool { return t.Name == name })
	if i < 0 || r.Window.Terminals[i].Ethernet {
		return math.NaN() // it has no radio
	}
	t := &r.Window.Terminals[i]
	switch q {
	case "airtime":
		return t.AirtimePercent
	case "collisions":
		return t.Up.CollisionsPercent
	case "aggregation":
		return t.Up.AggregationFrames
	case "queue":
		return t.Queue.MeanPackets
	case "ap_queue":
		return t.APQueue.MeanPackets
	case "ap_sojourn":
		return t.APQueue.Sojourn.MedianMs
	case "ap_drops":
		return float64(t.Drops.APQueue)
	}
	return math.NaN()
}
