package conn

import (
	"slices"
	"sort"
)

// hole is a range of a stream, by the offsets of its first byte and behind its last.
type hole struct{ start, end int64 }

// maxHoles is the greatest number of holes of a direction. Beyond it the oldest is dropped.
const maxHoles = 1 << 10

// keptHoles is the number of holes that a direction keeps behind an ACK.
const keptHoles = 64

// holes are the ranges of a stream that were not seen, in order. Holes and waiting segments share
// one limit. The parameter spare is the number of both that may still be added.
type holes []hole

// leave adds a hole at the end.
func (h *holes) leave(one hole, spare *int) {
	if len(*h) > 0 && (len(*h) >= maxHoles || *spare < 1) {
		h.drop(1, spare)
	}
	if *spare > 0 {
		*spare--
		*h = append(*h, one)
	}
}

// fill returns how many bytes of a range lie in holes, and takes them out of the holes.
func (h *holes) fill(start, end int64, spare *int) (bytes int64) {
	all := *h
	from := sort.Search(len(all), func(i int) bool { return start < all[i].end })
	to := from
	rest := make([]hole, 0, 2)
	for ; to < len(all) && all[to].start < end; to++ {
		one := all[to]
		bytes += min(end, one.end) - max(start, one.start)
		if one.start < start {
			rest = append(rest, hole{one.start, start})
		}
		if end < one.end {
			rest = append(rest, hole{end, one.end})
		}
	}
	*spare += to - from - len(rest)
	*h = slices.Replace(all, from, to, rest...)
	if len(*h) > maxHoles { // a segment within a hole leaves two
		h.drop(1, spare)
	}
	return bytes
}

// forget removes the holes below an acknowledged offset, once memory is short: only the capture
// missed them, so they are rarely filled.
func (h *holes) forget(acked int64, step *Step) {
	if len(*h) < keptHoles && step.spare > maxWaiting/2/max(1, step.shares) {
		return
	}
	n := 0
	for n < len(*h) && (*h)[n].end <= acked {
		n++
	}
	if n > 0 {
		h.drop(n, &step.spare)
	}
}

// drop removes the first holes.
func (h *holes) drop(n int, spare *int) {
	*h = slices.Delete(*h, 0, n)
	*spare += n
}

// release frees all holes.
func (h *holes) release(spare *int) {
	*spare += len(*h)
	*h = nil
}
