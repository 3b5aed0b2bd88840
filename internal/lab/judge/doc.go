// Package judge turns the results of runs into statistics and verdicts. Statistics of a measurement
// are mean, standard deviation, median and bootstrap interval. Claims are expressions over the
// statistics and the indices of package fairness. A claim is held, not held or not decided.
//
// The package is pure: the same runs and seed give the same verdict.
package judge
