// Package measure computes an experiment's measurements from the data of a run: the cell's
// counters, the reports of tools, and the kernel's recording. Rates count packets that leave the
// cell and the path. They cover the scheduled time of the flow between warm-up and end.
package measure
