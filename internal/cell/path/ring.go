package path

// ring is a FIFO in an array that grows by doubling, and so allocates no more once it has been as
// long as it gets.
type ring[T any] struct {
	items []T // a power of two
	first int
	count int
}

func (r *ring[T]) at(i int) *T { return &r.items[(r.first+i)&(len(r.items)-1)] }

func (r *ring[T]) push(v T) {
	if r.count == len(r.items) {
		r.grow()
	}
	r.count++
	*r.at(r.count - 1) = v
}

func (r *ring[T]) grow() {
	bigger := make([]T, max(16, 2*len(r.items)))
	for i := range r.count {
		bigger[i] = *r.at(i)
	}
	r.items = bigger
	r.first = 0
}

func (r *ring[T]) front() *T { return &r.items[r.first] }

func (r *ring[T]) pop() T {
	var zero T
	v := r.items[r.first]
	r.items[r.first] = zero
	r.first = (r.first + 1) & (len(r.items) - 1)
	r.count--
	return v
}
