// Package stats computes quantiles, distributions, counter growth, rates and confidence intervals.
//
// Values are plain numbers: a caller leaves absent values out. Nothing here reads a clock; times
// are nanoseconds.
package stats
