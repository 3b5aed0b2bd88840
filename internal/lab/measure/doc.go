// Package measure takes an experiment's measurements from what a run left: the cell's counters,
// what the tools reported, and the kernel's recording. Rates are taken where packets leave cell and
// path, from warm-up to the end of the run or as long as the flow was to send in between.
package measure
