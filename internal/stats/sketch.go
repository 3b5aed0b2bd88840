package stats

import (
	"cmp"
	"math"
	"slices"

	"github.com/DataDog/sketches-go/ddsketch/mapping"
)

// SketchAccuracy is the relative error of a sketch's quantiles (Masson, Rim, Lee: DDSketch, VLDB
// 2019). A sketch has about 115 bins for each decade of values.
const SketchAccuracy = 0.01

var sketchBins = func() *mapping.CubicallyInterpolatedMapping {
	m, err := mapping.NewCubicallyInterpolatedMapping(SketchAccuracy)
	if err != nil {
		panic(err) // the accuracy is a constant
	}
	return m
}()

// Sketch collects values of at least 0. Its extremes are exact. Its quantiles are within
// SketchAccuracy of the value of the nearest rank. Its memory grows with the number of different
// values, not with their range.
type Sketch struct {
	min, max int64
	// run counts repetitions of the latest value, which are stored together.
	latest, run int64
	// zeros are counted apart, because the bins are for values above zero.
	zeros int64
	bins  binCounts
}

// none stands for a value of a sketch that has none.
const none = -1

// NewSketch makes an empty sketch.
func NewSketch() Sketch { return Sketch{min: math.MaxInt64, max: none, latest: none} }

// Reset empties the sketch. It keeps some memory for the next values.
func (s *Sketch) Reset() {
	list := s.bins.list[:0]
	*s = NewSketch()
	s.bins.list = list
}

// Add counts a value. It ignores a negative one.
func (s *Sketch) Add(v int64) {
	if v == s.latest {
		s.run++
		return
	}
	if v < 0 {
		return
	}
	s.flush()
	s.latest = v
	s.run = 1
	s.min = min(s.min, v)
	s.max = max(s.max, v)
}

// flush stores the run.
func (s *Sketch) flush() {
	switch {
	case s.run == 0 || s.latest == none:
	case s.latest == 0:
		s.zeros += s.run
	default:
		s.bins.add(sketchBins.Index(float64(s.latest)), float64(s.run))
	}
	s.run = 0
}

// Merge adds the values of another sketch.
func (s *Sketch) Merge(other *Sketch) {
	s.flush()
	other.flush()
	s.min = min(s.min, other.min)
	s.max = max(s.max, other.max)
	s.zeros += other.zeros
	other.bins.each(s.bins.add)
}

// Extremes returns the least and the greatest value; ok is false without values.
func (s *Sketch) Extremes() (least, greatest int64, ok bool) { return s.min, s.max, s.max != none }

// Quantiles returns the values at the nearest ranks of shares from 0 to 1, nil without values.
func (s *Sketch) Quantiles(shares ...float64) []int64 {
	s.flush()
	if s.max == none {
		return nil
	}
	var few [32]binCount // enough for most sketches
	bins := few[:0]
	total := 0.0
	s.bins.each(func(index int, count float64) {
		bins = append(bins, binCount{index, count})
		total += count
	})
	slices.SortFunc(bins, func(a, b binCount) int { return cmp.Compare(a.index, b.index) })
	// A ddsketch.DDSketch takes the lower rank, share*(n-1), and misses the largest of few values.
	n := uint64(s.zeros) + uint64(total)
	values := make([]int64, len(shares))
	for i, share := range shares {
		if before := int64(Rank(share, n)) - 1; before >= s.zeros {
			v := sketchBins.Value(binAtRank(bins, float64(before-s.zeros)))
			values[i] = min(max(int64(math.Round(v)), s.min), s.max)
		}
	}
	return values
}

// binAtRank returns the index of the bin of the value behind a number of lesser ones.
func binAtRank(bins []binCount, before float64) int {
	for _, b := range bins {
		before -= b.count
		if before < 0 {
			return b.index
		}
	}
	return bins[len(bins)-1].index
}
