// Package run runs experiments. A scheduler gives the runs of a plan to workers. Each run is tried
// by an attempt, which is built of parts: the cell, its machines, the traffic, recordings, agents
// and clocks. An attempt writes one result.
//
// Finished runs are kept whatever happens later, and missing runs can be done another time.
package run
