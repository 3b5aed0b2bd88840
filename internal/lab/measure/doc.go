// Package measure takes an experiment's measurements from the data of a run: the cell's counters, the
// reports of tools, and the kernel's recording. Rates are taken where packets leave cell and path.
// They cover the time from warm-up to the end, as far as the flow was to send.
package measure
