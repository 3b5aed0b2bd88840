// Package judge turns the results of runs into statistics and verdicts: mean, standard deviation, median and bootstrap
// interval of a measurement, indices of fairness, and claims, which are expressions over them, held, not held or not
// decided. It is pure: the same runs and seed give the same verdict.
package judge
