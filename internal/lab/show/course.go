package show

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"airtide/internal/lab/measure"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/view/plot"
)

// courses are what a run has over time: the cell's counters, and the kernel's recording where there is one.
type courses struct {
	goodput map[string][]point
	kernel  map[string]map[plan.Quantity][]point
}

func (c *courses) of(q plan.Quantity, flow string) []point {
	if q == "goodput" {
		return c.goodput[flow]
	}
	return c.kernel[flow][q]
}

// recorded are the fields in which the recording has a quantity, with how many of their units make one of its.
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

func (r *Report) readCourses(run *result.Result) (*courses, error) {
	c := &courses{goodput: map[string][]point{}, kernel: map[string]map[plan.Quantity][]point{}}
	dir := r.folder.RunDir(run.Run)
	if run.Series != "" {
		windows, err := result.ReadSeries(filepath.Join(dir, run.Series))
		if err != nil {
			return nil, err
		}
		for _, w := range windows {
			at := (seconds(w.FromNs) + seconds(w.ToNs)) / 2
			for _, f := range w.Flows {
				c.goodput[f.Name] = append(c.goodput[f.Name], point{at, f.ForwardMbps + f.ReverseMbps, math.NaN(), math.NaN()})
			}
		}
	}
	machines := map[string][]string{}
	for _, f := range run.Recordings {
		machines[f.Name] = append(machines[f.Name], f.Machine)
	}
	for i, f := range run.Recordings {
		if slices.ContainsFunc(run.Recordings[:i], func(before result.File) bool { return before.Name == f.Name }) {
			continue // one recording of several machines
		}
		senders := measure.Senders(r.setup(run), run, machines[f.Name]...)
		if err := c.readRecording(filepath.Join(dir, f.Name), f.ClockFrom(run.ZeroNs), run, senders); err != nil {
			return nil, fmt.Errorf("reading its recording: %w", err)
		}
	}
	return c, nil
}

// setup is what a run was to do.
func (r *Report) setup(run *result.Result) *plan.Setup {
	for i := range r.plan.Points {
		if r.plan.Points[i].ID == run.Point {
			return r.plan.Points[i].Setup
		}
	}
	return &plan.Setup{}
}

// readRecording takes of each sender its connection that has carried most.
func (c *courses) readRecording(path string, clock result.Clock, run *result.Result, senders []measure.Sender) (err error) {
	t, err := trace.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	fields := []tcp.Field{tcp.AckedBytes}
	for _, f := range recorded {
		fields = append(fields, f.field)
	}
	all := plot.NewFieldSeries(fields, plot.Options{
		OriginNs: clock.ZeroNs, To: time.Duration(run.DurationS * 1e9 * clock.Ratio),
	})
	if err := t.Scan(trace.ScanOptions{Fields: fields}, all); err != nil {
		return err
	}
	for _, sender := range senders {
		var chosen *plot.FlowSeries
		most := int64(-1)
		for _, f := range all.Flows() {
			if acked := last(f.Points(tcp.AckedBytes)); sender.Sends(&f.Flow) && acked > most {
				chosen, most = f, acked
			}
		}
		if chosen == nil {
			continue
		}
		of := map[plan.Quantity][]point{}
		for q, f := range recorded {
			units := f.units
			if f.time {
				units *= clock.Ratio
			}
			of[q] = courseOf(chosen.Points(f.field), clock, units)
		}
		c.kernel[sender.Flow] = of
	}
	return nil
}

func last(stretches [][]plot.Point) (value int64) {
	if n := len(stretches); n > 0 {
		points := stretches[n-1]
		value = points[len(points)-1].Value
	}
	return value
}

// courseOf is a line that is broken between stretches.
func courseOf(stretches [][]plot.Point, clock result.Clock, units float64) []point {
	var points []point
	for i, stretch := range stretches {
		if i > 0 {
			points = append(points, point{clock.Since(stretch[0].TimeNs).Seconds(), math.NaN(), math.NaN(), math.NaN()})
		}
		for _, p := range stretch {
			points = append(points, point{clock.Since(p.TimeNs).Seconds(), float64(p.Value) / units, math.NaN(), math.NaN()})
		}
	}
	return points
}
