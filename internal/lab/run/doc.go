// Package run runs experiments. A scheduler gives the runs of a plan to workers. Each worker makes
// attempts of a run until one is valid.
//
// An attempt is built of parts: the cell, its machines, the traffic, recordings, agents and clocks.
// It writes one result. Finished runs are kept, and missing runs can be done later.
package run
