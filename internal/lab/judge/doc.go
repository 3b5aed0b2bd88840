// Package judge turns the results of runs into statistics and verdicts. Statistics of a measurement are
// mean, standard deviation, median and bootstrap interval. Claims are expressions over them and over
// the indices of package fairness; they are held, not held or not decided.
//
// The package is pure: the same runs and seed give the same verdict.
package judge
