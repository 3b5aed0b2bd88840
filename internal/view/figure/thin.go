package figure

// pointsPerSample is how many points a span becomes at most: its first, least, greatest and last.
const pointsPerSample = 4

// thinned joins neighbouring samples until they are at most maxPoints points. Gaps stay, so a
// series with very many of them keeps more.
func thinned(samples []Sample, maxPoints int) []Sample {
	if len(samples) <= maxPoints && countPoints(samples) <= maxPoints {
		return samples
	}
	most := max(1, maxPoints/pointsPerSample)
	each := (len(samples) + most - 1) / most
	var out []Sample
	n := 0 // samples in the last of out
	for _, d := range samples {
		if last := len(out) - 1; n > 0 && n < each && !d.absent() && !out[last].absent() {
			out[last] = out[last].joined(d)
			n++
			continue
		}
		out = append(out, d)
		n = 1
	}
	return out
}

func countPoints(samples []Sample) int {
	n := 0
	for i := range samples {
		n += len(samples[i].points())
	}
	return n
}

// joined is a sample and the next one as one span.
func (d Sample) joined(next Sample) Sample {
	return Sample{
		X: d.X, End: next.End, First: d.First, Last: next.Last, Min: min(d.Min, next.Min), Max: max(d.Max, next.Max),
		Low: min(d.Low, next.Low), High: max(d.High, next.High),
	}
}
