// Package judge turns the results of runs into statistics and verdicts: mean, standard deviation,
// median and bootstrap interval of a measurement, and claims, which are expressions over them and
// the indices of package fairness, held, not held or not decided. It is pure: the same runs and
// seed give the same verdict.
package judge
