package measure

import (
	"cmp"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/stats"
)

// flow returns a quantity of one flow.
func (r *Run) flow(m plan.Measurement, i int) float64 {
	setup := &r.Setup.Flows[i]
	flow := &r.Flows[i]
	switch q := m.Quantity; q {
	case "goodput":
		return r.goodput(m, setup)
	case "goodput_peak":
		return r.peak(m, setup)
	case "share":
		return r.share(m, i)
	case "part_of_max":
		return r.goodput(m, setup) / r.alone(r.terminalOf(setup))
	case "part_of_alone":
		return r.goodput(m, setup) / min(r.alone(r.terminalOf(setup)), r.wires(r.ways(setup)))
	case "reported_rate":
		return reported(flow)
	case "completion_time", "transfers":
		return r.transfers(q, flow)
	case "datagram_loss":
		if d := flow.Datagrams; d != nil && d.Sent > 0 {
			return 100 * float64(d.Lost) / float64(d.Sent)
		}
	case "ping_rtt":
		var ms []float64
		for _, p := range r.pings(flow) {
			ms = append(ms, p.Ms)
		}
		return stats.Median(ms)
	default:
		if k, ok := r.Kernel[setup.Name]; ok {
			if v, known := k[q]; known {
				return v
			}
		}
	}
	return math.NaN()
}

// span returns the scheduled part of the measured time of a flow, since time zero.
func (r *Run) span(m plan.Measurement, f *plan.FlowSetup) (from, to time.Duration) {
	return time.Duration(max(cmp.Or(m.From, r.Setup.Warmup), f.Start)), time.Duration(
		min(cmp.Or(m.To, r.Setup.Duration), f.Flow.Stop),
	)
}

// goodput returns the goodput of a flow in Mbit/s, summed over its directions; NaN if the flow was
// not scheduled in the measured time.
func (r *Run) goodput(m plan.Measurement, f *plan.FlowSetup) float64 {
	from, to := r.span(m, f)
	if from >= to {
		return math.NaN()
	}
	return r.rate(f, from, to)
}

// rate returns the goodput between two times since time zero.
func (r *Run) rate(f *plan.FlowSetup, from, to time.Duration) float64 {
	forward, reverse := r.Counts.Rates(f.Name, from, to)
	goodput, ok := f.Flow.Goodput(forward, reverse)
	if !ok {
		return math.NaN()
	}
	return goodput
}

// peakTime is the averaging time of a peak.
const peakTime = 500 * time.Millisecond

// peak returns the greatest goodput over peakTime.
func (r *Run) peak(m plan.Measurement, f *plan.FlowSetup) float64 {
	from, to := r.span(m, f)
	greatest := math.NaN()
	for at := from; at+peakTime <= to; at += max(time.Duration(r.Setup.RecordInterval), peakTime/50) {
		if rate := r.rate(f, at, at+peakTime); !(rate <= greatest) {
			greatest = rate
		}
	}
	return greatest
}

// share returns a flow's goodput divided by its fair share of the total goodput. Fair shares are
// proportional to the numbers of connections.
func (r *Run) share(m plan.Measurement, i int) float64 {
	sum := 0.0
	connections := 0
	for j := range r.Setup.Flows {
		if f := &r.Setup.Flows[j]; plan.Quantity("goodput").Suits(f.Flow.Protocol) {
			sum += r.goodput(m, f)
			connections += max(1, f.Flow.Parallel)
		}
	}
	own := &r.Setup.Flows[i]
	return r.goodput(m, own) / sum * float64(connections) / float64(max(1, own.Flow.Parallel))
}

// terminalOf returns the terminal of a flow. Between two terminals, it is the terminal that opens
// the connection.
func (r *Run) terminalOf(f *plan.FlowSetup) string {
	if slices.ContainsFunc(r.Setup.Terminals, func(t plan.TerminalSetup) bool { return t.Name == f.From }) {
		return f.From
	}
	return f.To
}

// alone returns the configured rate in Mbit/s that a terminal's radio reaches alone; NaN if it is
// not configured.
func (r *Run) alone(terminal string) float64 {
	for _, t := range r.Setup.Terminals {
		if t.Name == terminal && t.Share.MaxRate > 0 {
			return float64(t.Share.MaxRate) / 1e6
		}
	}
	return math.NaN()
}

// ways returns the directions of a flow's data. The direction is up if a terminal sends, no matter
// which end opens the connection.
func (r *Run) ways(f *plan.FlowSetup) (up, down bool) {
	if f.Flow.Direction == plan.Both {
		return true, true
	}
	down = f.Flow.SendsBack() == (r.terminalOf(f) == f.From)
	return !down, down
}

// wires returns the TCP capacity of the wires in the given directions, in Mbit/s.
func (r *Run) wires(up, down bool) (mbps float64) {
	if up {
		mbps += tcpOver(r.Setup.WireUp)
	}
	if down {
		mbps += tcpOver(r.Setup.WireDown)
	}
	return mbps
}

// tcpOver returns the payload rate of TCP with timestamps over an Ethernet wire: 1448 bytes of
// payload per 1538 byte times.
func tcpOver(w plan.Wire) float64 { return float64(w.Rate) / 1e6 * 1448 / 1538 }

func reported(f *result.Flow) float64 {
	switch {
	case f.ReportedMbps == nil:
		return math.NaN()
	case f.ReportedReverseMbps != nil:
		return *f.ReportedMbps + *f.ReportedReverseMbps
	}
	return *f.ReportedMbps
}

// transfers counts the complete transfers that began after the warm-up, or returns the mean of
// their times in seconds.
func (r *Run) transfers(q plan.Quantity, f *result.Flow) float64 {
	var took []float64
	for _, t := range f.Transfers {
		if t.Error == "" && t.AtS >= time.Duration(r.Setup.Warmup).Seconds() {
			took = append(took, t.TookS)
		}
	}
	if q == "transfers" {
		return float64(len(took))
	}
	return stat.Mean(took, nil)
}

// pings returns the answers to requests sent after the warm-up.
func (r *Run) pings(f *result.Flow) []result.Echo {
	if f.Pings == nil {
		return nil
	}
	var after []result.Echo
	for _, p := range f.Pings.RTTs {
		if p.AtS >= time.Duration(r.Setup.Warmup).Seconds() {
			after = append(after, p)
		}
	}
	return after
}
