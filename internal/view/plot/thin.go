package plot

// span is a part of a list that is thinned by time.
type span[T any] interface {
	start() int64 // monotonic nanoseconds
	joined(next T) T
}

// thinned joins spans of the same time >> shift and increases the shift until a quarter of the
// limit is free. Joining until there is room, instead of once, keeps the cost per value constant if
// values are sparse.
func thinned[T span[T]](list []T, shift uint, limit int) ([]T, uint) {
	for len(list) > limit*3/4 {
		shift++
		kept := list[:1]
		for _, s := range list[1:] {
			if last := &kept[len(kept)-1]; (*last).start()>>shift == s.start()>>shift {
				*last = (*last).joined(s)
			} else {
				kept = append(kept, s)
			}
		}
		list = kept
	}
	return list, shift
}
