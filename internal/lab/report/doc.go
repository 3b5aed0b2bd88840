// Package report summarises the result of an experiment: its measurements over the runs of each
// point, the verdicts of its claims, and warnings. It also compares results. Package show prints
// reports, and package figures draws them.
package report
