package figures

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"airtide/internal/lab/measure"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	"airtide/internal/lab/result"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/view/figure"
	"airtide/internal/view/plot"
)

// timeSeries are the samples of a run. Goodput comes from the counters of the cell, and all other
// quantities come from the kernel's recordings.
type timeSeries struct {
	goodput map[string][]figure.Sample // by flow
	kernel  map[string]map[plan.Quantity][]figure.Sample
}

func (t *timeSeries) of(q plan.Quantity, flow string) []figure.Sample {
	if q == "goodput" {
		return t.goodput[flow]
	}
	return t.kernel[flow][q]
}

// recorded maps recorded quantities to their fields, and to the number of units of the field in one
// unit of the quantity.
var recorded = map[plan.Quantity]struct {
	field tcp.Field
	units float64
	time  bool // by the clock of the recording
}{
	"srtt":        {tcp.SrttUs, 1e3, true},
	"cwnd":        {tcp.CwndPackets, 1, false},
	"ca_state":    {tcp.CAStateField, 1, false},
	"cubic_k":     {tcp.CubicKMs, 1e3, true},
	"send_window": {tcp.SendWindowBytes, 1e3, false},
}

// readTimeSeries reads the counters and the recordings of a run.
func readTimeSeries(ctx context.Context, r *report.Report, run *result.Result) (*timeSeries, error) {
	t := &timeSeries{goodput: map[string][]figure.Sample{}, kernel: map[string]map[plan.Quantity][]figure.Sample{}}
	dir := r.RunDir(run.Run)
	if run.Series != "" {
		windows, err := result.ReadSeries(ctx, filepath.Join(dir, run.Series))
		if err != nil {
			return nil, err
		}
		for _, w := range windows {
			at := float64(w.FromNs+w.ToNs) / 2
			for flow, mbps := range run.Goodput(w).Flows {
				t.goodput[flow] = append(t.goodput[flow], figure.Point(at, mbps))
			}
		}
	}
	machines := map[string][]string{} // by recording
	var files []result.File
	for _, f := range run.Recordings {
		if machines[f.Name] == nil {
			files = append(files, f)
		}
		machines[f.Name] = append(machines[f.Name], f.Machine)
	}
	for _, f := range files {
		senders := measure.Senders(setupOf(r.Plan(), run), run, machines[f.Name]...)
		if err := t.readRecording(ctx, filepath.Join(dir, f.Name), f.ClockFrom(run.ZeroNs), run, senders); err != nil {
			return nil, fmt.Errorf("reading its recording: %w", err)
		}
	}
	return t, nil
}

// setupOf returns the setup of a run's point.
func setupOf(p *plan.Plan, run *result.Result) *plan.Setup {
	for i := range p.Points {
		if p.Points[i].ID == run.Point {
			return p.Points[i].Setup
		}
	}
	return &plan.Setup{}
}

// readRecording reads the connection with the most bytes of each sender.
func (t *timeSeries) readRecording(
	ctx context.Context, path string, clock result.Clock, run *result.Result, senders []measure.Sender,
) (err error) {
	file, err := trace.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	fields := []tcp.Field{tcp.AckedBytes}
	for _, f := range recorded {
		fields = append(fields, f.field)
	}
	all := plot.NewFieldSeries(fields, plot.Options{
		OriginNs: clock.ZeroNs, To: time.Duration(run.DurationS * 1e9 * clock.Ratio),
	})
	if err := file.Scan(ctx, trace.ScanOptions{Fields: fields}, all); err != nil {
		return err
	}
	for _, sender := range senders {
		if flow := busiest(all.Flows(), sender); flow != nil {
			t.kernel[sender.Flow] = quantitiesOf(flow, clock)
		}
	}
	return nil
}

// busiest returns the flow of a sender with the most acknowledged bytes; nil if it has none.
func busiest(flows []*plot.FlowSeries, sender measure.Sender) (busiest *plot.FlowSeries) {
	most := int64(-1)
	for _, f := range flows {
		if acked := lastValue(f.Points(tcp.AckedBytes)); sender.Sends(&f.Flow) && acked > most {
			busiest = f
			most = acked
		}
	}
	return busiest
}

func quantitiesOf(flow *plot.FlowSeries, clock result.Clock) map[plan.Quantity][]figure.Sample {
	of := map[plan.Quantity][]figure.Sample{}
	for q, f := range recorded {
		units := f.units
		if f.time {
			units *= clock.Ratio
		}
		of[q] = toSeries(flow.Points(f.field), clock, units)
	}
	return of
}

func lastValue(stretches [][]plot.Point) (value int64) {
	if n := len(stretches); n > 0 {
		points := stretches[n-1]
		value = points[len(points)-1].Value
	}
	return value
}

// toSeries returns a line with gaps between stretches.
func toSeries(stretches [][]plot.Point, clock result.Clock, units float64) []figure.Sample {
	var samples []figure.Sample
	at := func(p plot.Point) float64 { return float64(clock.Since(p.TimeNs)) }
	for i, stretch := range stretches {
		if i > 0 {
			samples = append(samples, figure.Gap(at(stretch[0])))
		}
		for _, p := range stretch {
			samples = append(samples, figure.Point(at(p), float64(p.Value)/units))
		}
	}
	return samples
}
