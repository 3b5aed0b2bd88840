package report

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// Comparison compares results with the first one.
type Comparison struct {
	// Results are the folders. All others are compared with the first one.
	Results []string `json:"results"`
	// Parameters are the parameters of all sweeps, in the order of the results.
	Parameters []string   `json:"parameters"`
	Points     []Compared `json:"points"`
	// Only lists points and measurements that some results lack, or that have different meanings.
	Only []string `json:"only,omitempty"`
	// Intervals counts the differences with an interval. Significant counts those whose interval
	// excludes zero. Without any real difference, about one in twenty is significant by chance.
	Intervals   int `json:"intervals"`
	Significant int `json:"significant"`
}

// Compared is one measurement at one point in two results.
type Compared struct {
	Settings    []plan.Setting `json:"settings"`
	Measurement string         `json:"measurement"`
	Unit        string         `json:"unit"`
	With        string         `json:"with"` // the other result's folder
	First       judge.Summary  `json:"first"`
	Other       judge.Summary  `json:"other"`
	// Difference is other minus first, with its 95 % bootstrap interval.
	Difference judge.Estimate `json:"difference"`
	// Ratio is the other value divided by the first; nil if the ratio has no value.
	Ratio *float64 `json:"ratio"`
	// Significant is true if the interval excludes zero. It is nil if single runs have no interval.
	Significant *bool `json:"significant"`

	// Index is the index of With in the results.
	Index int `json:"-"`
}

// Compare compares the second and all further results with the first, at the points that they
// share.
func Compare(ctx context.Context, p Progress, reports ...*Report) (*Comparison, error) {
	if len(reports) < 2 {
		return nil, errors.New("comparing results: give at least two")
	}
	c := &Comparison{}
	for _, r := range reports {
		c.Results = append(c.Results, r.Dir)
		for _, p := range r.Parameters {
			if !slices.Contains(c.Parameters, p) {
				c.Parameters = append(c.Parameters, p)
			}
		}
	}
	for i, other := range reports[1:] {
		if err := c.compare(ctx, reports[0], other, i+1, p); err != nil {
			return nil, err
		}
	}
	if len(c.Points) == 0 {
		return nil, fmt.Errorf("comparing results: they share nothing:\n  %s", strings.Join(c.Only, "\n  "))
	}
	return c, nil
}

// compare adds the differences between one result, the i-th, and the first.
func (c *Comparison) compare(ctx context.Context, first, other *Report, i int, progress Progress) error {
	points := map[string]*Point{}
	for i := range other.Points {
		points[key(other.Points[i].Settings)] = &other.Points[i]
	}
	var names []string
	for _, m := range first.plan.Experiment.Measure {
		theirs, ok := other.plan.Experiment.Measure.Get(m.Name)
		switch {
		case !ok:
			c.only(first, "measurement "+m.Name)
		case theirs.Quantity != m.Value.Quantity || theirs.Take != m.Value.Take:
			c.Only = append(c.Only, fmt.Sprintf("measurement %s is %s of %s in %s, %s of %s in %s", m.Name,
				m.Value.Take, m.Value.Quantity, first.Dir, theirs.Take, theirs.Quantity, other.Dir))
		default:
			names = append(names, m.Name)
		}
	}
	for _, m := range other.plan.Experiment.Measure {
		if _, ok := first.plan.Experiment.Measure.Get(m.Name); !ok {
			c.only(other, "measurement "+m.Name)
		}
	}
	for n, p := range first.Points {
		if err := ctx.Err(); err != nil {
			return err
		}
		progress.report("comparing points", n+1, len(first.Points))
		theirs := points[key(p.Settings)]
		if theirs == nil {
			c.only(first, "point "+p.name())
			continue
		}
		delete(points, key(p.Settings))
		for _, m := range names {
			c.Points = append(c.Points, c.point(first, other, p, *theirs, m))
			c.Points[len(c.Points)-1].Index = i
		}
	}
	for _, p := range other.Points {
		if points[key(p.Settings)] != nil {
			c.only(other, "point "+p.name())
		}
	}
	return nil
}

// only records a point or a measurement that only one result has.
func (c *Comparison) only(r *Report, name string) {
	if text := fmt.Sprintf("%s is only in %s", name, r.Dir); !slices.Contains(c.Only, text) {
		c.Only = append(c.Only, text)
	}
}

// point compares one measurement at one point.
func (c *Comparison) point(first, other *Report, p, theirs Point, name string) Compared {
	a := Values(name, first.Results(p.ID))
	b := Values(name, other.Results(theirs.ID))
	of := Compared{
		Settings: p.Settings, Measurement: name, Unit: p.Measurement(name).Unit, With: other.Dir,
		First: p.Measurement(name).Summary, Other: theirs.Measurement(name).Summary,
		Difference: judge.Difference(b, a, first.seed),
	}
	if ratio := of.Other.Mean / of.First.Mean; !math.IsNaN(ratio) && !math.IsInf(ratio, 0) {
		of.Ratio = &ratio
	}
	if i := of.Difference.Interval; !math.IsNaN(i.Low) {
		significant := i.Low > 0 || i.High < 0
		of.Significant = &significant
		c.Intervals++
		if significant {
			c.Significant++
		}
	}
	return of
}

// Results returns the runs of a point.
func (r *Report) Results(point string) []*result.Result {
	var runs []*result.Result
	for _, one := range r.results {
		if one.Point == point {
			runs = append(runs, one)
		}
	}
	return runs
}

// Measurement returns a measurement of the experiment by name.
func (p *Point) Measurement(name string) *Measurement {
	i := slices.IndexFunc(p.Measurements, func(m Measurement) bool { return m.Name == name })
	return &p.Measurements[i]
}

func (p *Point) name() string {
	if p.ID == "" {
		return "without a sweep"
	}
	return p.ID
}

// key returns a text that is equal for equal settings, in any order and with quantities in any
// unit.
func key(settings []plan.Setting) string {
	parts := make([]string, len(settings))
	for i, s := range settings {
		value := s.Value.Text
		if !math.IsNaN(s.Value.Number) {
			value = strconv.FormatFloat(s.Value.Number, 'g', -1, 64)
		}
		parts[i] = s.Parameter + "=" + value
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x00")
}
