package stats

// Thinned is a series of bounded size. When it is full, every second value goes, and from then on
// half as many are taken.
type Thinned[T any] struct {
	// Values are the kept ones, in the order of Add.
	Values       []T
	stride, seen int
}

// Add takes the next value. limit is the greatest number of kept values, even and the same in each
// call.
func (t *Thinned[T]) Add(v T, limit int) {
	t.stride = max(t.stride, 1)
	t.seen++
	if (t.seen-1)%t.stride != 0 {
		return
	}
	if len(t.Values) == limit {
		t.Halve()
	}
	t.Values = append(t.Values, v)
}

// Halve leaves out every second value, and takes half as many from then on.
func (t *Thinned[T]) Halve() {
	kept := (len(t.Values) + 1) / 2
	for i := range kept {
		t.Values[i] = t.Values[2*i]
	}
	t.Values = t.Values[:kept]
	t.stride = 2 * max(t.stride, 1)
}
