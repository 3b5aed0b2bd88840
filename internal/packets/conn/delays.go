package conn

import (
	"math/bits"
	"slices"
)

// delays sums up times in ns. Few values are kept as they are. Many fall into a histogram with 16
// bins for each power of two, so a quantile is within 3.2 %.
type delays struct {
	count      uint64
	sum        float64
	least, top int64
	few        []int64
	bins       *[octaves]*[perOctave]uint32
}

const (
	keptDelays = 32
	perOctave  = 16
	octaves    = 44
)

func (d *delays) add(ns int64) {
	if d.count == 0 || ns < d.least {
		d.least = ns
	}
	d.top = max(d.top, ns)
	d.count++
	d.sum += float64(ns)
	if d.bins == nil {
		if len(d.few) < keptDelays {
			d.few = append(d.few, ns)
			return
		}
		d.bins = &[octaves]*[perOctave]uint32{}
		for _, v := range d.few {
			d.tally(v)
		}
		d.few = nil
	}
	d.tally(ns)
}

// tally counts a time in its bin. Only octaves with times take memory.
func (d *delays) tally(ns int64) {
	at := bin(ns)
	octave := &d.bins[at/perOctave]
	if *octave == nil {
		*octave = &[perOctave]uint32{}
	}
	(*octave)[at%perOctave]++
}

// bin is the bin of a time: exact below 16 ns.
func bin(ns int64) int {
	if ns < perOctave {
		return int(max(ns, 0))
	}
	octave := bits.Len64(uint64(ns)) - 5
	return min(octaves*perOctave-1, octave*perOctave+int(ns>>octave))
}

// middle is the middle of a bin.
func middle(bin int) int64 {
	if bin < 2*perOctave {
		return int64(bin)
	}
	octave := bin/perOctave - 1
	return int64(bin-octave*perOctave)<<octave + int64(1)<<octave/2
}

// quantile is the nearest rank.
func (d *delays) quantile(share float64) int64 {
	rank := max(1, uint64(share*float64(d.count)+0.999999))
	if d.bins == nil {
		sorted := slices.Sorted(slices.Values(d.few))
		return sorted[min(len(sorted), int(rank))-1]
	}
	for octave, bins := range d.bins {
		if bins == nil {
			continue
		}
		for i, n := range bins {
			if uint64(n) >= rank {
				return max(d.least, min(middle(octave*perOctave+i), d.top))
			}
			rank -= uint64(n)
		}
	}
	return d.top
}

// Distribution sums up times in µs. It is absent without values.
type Distribution struct {
	Count uint64  `json:"count"`
	Min   float64 `json:"min_us"`
	P50   float64 `json:"p50_us"`
	P95   float64 `json:"p95_us"`
	Max   float64 `json:"max_us"`
	Mean  float64 `json:"mean_us"`
}

func (d *delays) distribution() *Distribution {
	if d.count == 0 {
		return nil
	}
	us := func(ns int64) float64 { return float64(ns) / 1000 }
	return &Distribution{
		d.count, us(d.least), us(d.quantile(0.5)), us(d.quantile(0.95)), us(d.top),
		float64(int64(d.sum/float64(d.count))) / 1000,
	}
}
