package measure

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat"

	"airtide/lab/judge"
	"airtide/lab/plan"
	"airtide/lab/result"
)

// flow is a quantity of one flow.
func (r *Run) flow(q plan.Quantity, i int) float64 {
	setup, flow := &r.Setup.Flows[i], &r.Flows[i]
	switch q {
	case "goodput":
		return r.goodput(setup)
	case "share":
		return r.share(i)
	case "part_of_max":
		return r.goodput(setup) / r.alone(setup.From)
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
		return judge.Median(ms)
	default:
		if k, ok := r.Kernel[setup.Name]; ok {
			if v, known := k[q]; known {
				return v
			}
		}
	}
	return math.NaN()
}

// span is the part of the measured time in which a flow was to send, since time zero.
func (r *Run) span(f *plan.FlowSetup) (from, to time.Duration) {
	return time.Duration(max(r.Setup.Warmup, f.Start)), time.Duration(min(r.Setup.Duration, f.Flow.Stop))
}

// goodput in Mbit/s, of both directions where there are both.
func (r *Run) goodput(f *plan.FlowSetup) float64 {
	from, to := r.span(f)
	forward, reverse := r.Counts.Rates(f.Name, from, to)
	switch {
	case f.Flow.Direction == plan.Both:
		return forward + reverse
	case f.Flow.SendsBack():
		return reverse
	}
	return forward
}

// share is a flow's goodput over what would be its fair share of all flows': by their connections.
func (r *Run) share(i int) float64 {
	sum, connections := 0.0, 0
	for j := range r.Setup.Flows {
		if f := &r.Setup.Flows[j]; plan.Quantity("goodput").Suits(f.Flow.Protocol) {
			sum += r.goodput(f)
			connections += max(1, f.Flow.Parallel)
		}
	}
	own := &r.Setup.Flows[i]
	return r.goodput(own) / sum * float64(connections) / float64(max(1, own.Flow.Parallel))
}

// alone is what a terminal is said to reach alone, in Mbit/s; NaN where nothing is said.
func (r *Run) alone(terminal string) float64 {
	for _, t := range r.Setup.Terminals {
		if t.Name == terminal && t.Share.MaxRate > 0 {
			return float64(t.Share.MaxRate) / 1e6
		}
	}
	return math.NaN()
}

func reported(f *result.Flow) float64 {
	switch {
	case f.ReportedMbps == nil:
		return math.NaN()
	case f.ReportedReverseMbps != nil:
		return *f.ReportedMbps + *f.ReportedReverseMbps
	}
	return *f.ReportedMbps
}

// transfers counts those that began after the warm-up and completed, or takes the mean of their times in seconds.
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

// pings are those answers whose question came after the warm-up.
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
