package stats

import (
	"cmp"
	"slices"
)

// binCounts counts values by bin. Bins that lie close together are an array, the others a sorted
// list. A range of values therefore takes no memory, only values do.
type binCounts struct {
	first  int // index of counts[0]
	counts []float64
	used   int // bins of counts that are not zero
	list   []binCount
}

// binCount is one bin of the list.
type binCount struct {
	index int
	count float64
}

const (
	minArray   = 32 // bins that are worth an array
	arrayRatio = 4  // the largest ratio of an array's length to the bins in it
)

// add adds to the count of a bin.
func (c *binCounts) add(index int, count float64) {
	if i := index - c.first; uint(i) < uint(len(c.counts)) {
		if c.counts[i] == 0 {
			c.used++
		}
		c.counts[i] += count
		return
	}
	at, found := slices.BinarySearchFunc(c.list, index, func(b binCount, i int) int { return cmp.Compare(b.index, i) })
	if found {
		c.list[at].count += count
		return
	}
	c.list = slices.Insert(c.list, at, binCount{index, count})
	if len(c.list) >= minArray {
		c.gather()
	}
}

// gather moves all bins into one array, if they lie close together.
func (c *binCounts) gather() {
	low := c.list[0].index
	high := c.list[len(c.list)-1].index
	if len(c.counts) > 0 {
		low = min(low, c.first)
		high = max(high, c.first+len(c.counts)-1)
	}
	used := c.used + len(c.list)
	if high-low >= arrayRatio*used {
		return
	}
	counts := make([]float64, high-low+1)
	copy(counts[max(0, c.first-low):], c.counts)
	for _, b := range c.list {
		counts[b.index-low] = b.count
	}
	*c = binCounts{first: low, counts: counts, used: used}
}

// each calls f with every bin that is not zero.
func (c *binCounts) each(f func(index int, count float64)) {
	for i, count := range c.counts {
		if count != 0 {
			f(c.first+i, count)
		}
	}
	for _, b := range c.list {
		f(b.index, b.count)
	}
}
