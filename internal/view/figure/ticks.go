package figure

import (
	"math"
	"strconv"
	"time"
)

// tick is a place on an axis and its label.
type tick struct {
	v    float64
	text string
}

// sized multiplies the places of ticks by the size of their unit.
func sized(size float64, ticks []tick) []tick {
	for i := range ticks {
		ticks[i].v *= size
	}
	return ticks
}

// roundTicks rounds the places of ticks to whole nanoseconds.
func roundTicks(ticks []tick) []tick {
	for i := range ticks {
		ticks[i].v = math.Round(ticks[i].v)
	}
	return ticks
}

// evenTicks are the multiples of 1, 2 or 5 times a power of ten between lo and hi, at most n of
// them.
func evenTicks(lo, hi float64, n int) []tick {
	step := evenStep((hi - lo) / float64(max(n, 1)))
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var ticks []tick
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-9; i++ {
		v := i * step
		ticks = append(ticks, tick{v, strconv.FormatFloat(v+0, 'f', decimals, 64)}) // + 0: no "-0"
	}
	return ticks
}

// evenStep is the least of 1, 2 and 5 times a power of ten that is at least x.
func evenStep(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= x*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logTicks are powers of ten between lo and hi, or 1, 2 and 5 times them when there would be few,
// at most about n.
func logTicks(lo, hi float64, n int) []tick {
	decades := math.Log10(hi / lo)
	multiples := []float64{1, 2, 5}
	every := 1
	if decades*3 > float64(n) {
		multiples = []float64{1}
		every = int(math.Ceil(decades / float64(max(n, 1))))
	}
	var ticks []tick
	for e := int(math.Floor(math.Log10(lo))); e <= int(math.Ceil(math.Log10(hi))); e++ {
		if e%every != 0 {
			continue
		}
		for _, m := range multiples {
			if v := m * math.Pow10(e); v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
				ticks = append(ticks, tick{v, strconv.FormatFloat(v, 'f', max(0, -e), 64)})
			}
		}
	}
	if len(ticks) < 2 { // less than an octave
		return evenTicks(lo, hi, n)
	}
	return ticks
}

// clockSteps are the distances of ticks on an axis of wall-clock time.
var clockSteps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// clockTicks are round times of day between the offsets lo and hi, in seconds, from the origin.
func clockTicks(origin time.Time, lo, hi float64, n int) []tick {
	least := (hi - lo) / float64(max(n, 1))
	step := time.Duration(evenStep(least) * 1e9)
	layout := "15:04:05"
	if step >= time.Second {
		step = clockSteps[len(clockSteps)-1]
		for i := len(clockSteps) - 1; i >= 0 && clockSteps[i].Seconds() >= least; i-- {
			step = clockSteps[i]
		}
	}
	if step < time.Second {
		layout += "." + "000000000"[:max(1, -int(math.Floor(math.Log10(step.Seconds())+1e-9)))]
	} else if step >= time.Minute {
		layout = "15:04"
	}
	first := origin.Add(time.Duration(lo * 1e9))
	_, zone := first.Zone() // Truncate counts from the zero time in UTC; steps of hours must count from local midnight
	shift := time.Duration(zone) * time.Second
	var ticks []tick
	for t := first.Add(shift).Truncate(step).Add(-shift); ; t = t.Add(step) {
		v := t.Sub(origin).Seconds()
		if v > hi {
			return ticks
		}
		if v >= lo {
			ticks = append(ticks, tick{v, t.Format(layout)})
		}
	}
}
