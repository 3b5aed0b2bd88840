package stats

import "math/bits"

// Buckets numbers buckets of logarithmic width for values of at least 0. Each octave has 2^b
// buckets, where b is the constant's value. Values below 2^(b+1) have a bucket each.
//
// Buckets for values below 2^n number (n-b+1)<<b. Limit an index to the last of them for greater
// values.
type Buckets int

// Index returns the bucket of a value of at least 0.
func (b Buckets) Index(v int64) int {
	if v < 1<<b {
		return int(v)
	}
	shift := bits.Len64(uint64(v)) - int(b) - 1
	return shift<<b + int(v>>shift)
}

// Middle returns the value in the middle of a bucket.
func (b Buckets) Middle(index int) int64 {
	if index < 1<<b {
		return int64(index)
	}
	shift := index>>b - 1
	return int64(index-shift<<b)<<shift + (int64(1)<<shift)/2
}

// Upper returns the greatest value of a bucket.
func (b Buckets) Upper(index int) int64 {
	if index < 1<<b {
		return int64(index)
	}
	shift := index>>b - 1
	return int64(index-shift<<b+1)<<shift - 1
}
