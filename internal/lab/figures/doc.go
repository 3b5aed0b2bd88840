// Package figures draws the figures of a result: bars, lines and scatter plots over a sweep, time
// lines of runs, and the time series of one run.
package figures
