package summary

import (
	"math"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"

	"airtide/internal/tcp"
)

// quantileAccuracy is the relative error of a quantile (Masson, Rim, Lee: DDSketch, VLDB 2019). At
// 1 % a sketch has some 115 bins per decade of values.
const quantileAccuracy = 0.01

var binOf = func() *mapping.CubicallyInterpolatedMapping {
	m, err := mapping.NewCubicallyInterpolatedMapping(quantileAccuracy)
	if err != nil {
		panic(err) // the accuracy is a constant
	}
	return m
}()

// distribution collects values that are not negative. The extremes are exact, quantiles within
// quantileAccuracy. It fills the store of a DDSketch itself, which takes half the time of going
// through the sketch.
type distribution struct {
	min, max int64
	// run counts the latest value, which often comes again and is then passed on only once.
	latest, run int64
	zeros       int64 // a sketch's bins are for values above zero
	bins        *store.DenseStore
}

func newDistribution() distribution {
	return distribution{min: math.MaxInt64, max: tcp.Absent, latest: tcp.Absent}
}

// add takes a value; an absent one does not count.
func (d *distribution) add(v int64) {
	if v == d.latest {
		d.run++
		return
	}
	if v < 0 { // absent, or senseless
		return
	}
	d.settle()
	d.latest, d.run = v, 1
	d.min, d.max = min(d.min, v), max(d.max, v)
}

// settle passes the run on.
func (d *distribution) settle() {
	switch {
	case d.run == 0 || d.latest == tcp.Absent:
	case d.latest == 0:
		d.zeros += d.run
	default:
		if d.bins == nil {
			d.bins = store.NewDenseStore()
		}
		d.bins.AddWithCount(binOf.Index(float64(d.latest)), float64(d.run))
	}
	d.run = 0
}

// merge adds what another distribution has collected.
func (d *distribution) merge(other *distribution) {
	d.settle()
	other.settle()
	d.min, d.max = min(d.min, other.min), max(d.max, other.max)
	d.zeros += other.zeros
	if other.bins == nil {
		return
	}
	if d.bins == nil {
		d.bins = store.NewDenseStore()
	}
	d.bins.MergeWith(other.bins)
}

// quantiles are the values below which the shares lie, nil when there were no values.
func (d *distribution) quantiles(shares ...float64) []int64 {
	d.settle()
	if d.max == tcp.Absent {
		return nil
	}
	bins := d.bins
	if bins == nil {
		bins = store.NewDenseStore()
	}
	sketch := ddsketch.NewDDSketch(binOf, bins, store.NewDenseStore())
	// The calls fail for negative counts, empty sketches and shares beyond 0 to 1 only.
	_ = sketch.AddWithCount(0, float64(d.zeros))
	values, _ := sketch.GetValuesAtQuantiles(shares)
	exact := make([]int64, len(values))
	for i, v := range values {
		exact[i] = min(max(int64(math.Round(v)), d.min), d.max)
	}
	return exact
}

// report gives the distribution, nil when there were no values.
func (d *distribution) report() *Distribution {
	q := d.quantiles(0.5, 0.95, 0.99)
	if q == nil {
		return nil
	}
	return &Distribution{Min: d.min, Median: q[0], P95: q[1], P99: q[2], Max: d.max}
}

// spread gives the extremes and the median, nil when there were no values.
func (d *distribution) spread() *Spread {
	q := d.quantiles(0.5)
	if q == nil {
		return nil
	}
	return &Spread{Min: d.min, Median: q[0], Max: d.max}
}
