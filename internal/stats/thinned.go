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
	if t.seen++; (t.seen-1)%t.stride != 0 {
		return
	}
	if len(t.Values) == limit {
		for i := range limit / 2 {
			t.Values[i] = t.Values[2*i]
		}
		t.Values = t.Values[:limit/2]
		t.stride *= 2
	}
	t.Values = append(t.Values, v)
}
