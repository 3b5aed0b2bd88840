// Package plan reads an experiment. It turns a YAML file with terminals, cell, path, servers,
// flows, a sweep, recordings, measurements and claims into a checked plan of runs. The package is
// pure, except for Open, which reads a file.
//
// A file passes through these steps. Package document parses it into nodes with positions. The part
// that is equal at all points of the sweep is decoded and checked once (plan.go). The sweep
// (sweep.go) sets values in copies of the rest, one copy for each point.
//
// Profiles supply missing fields of terminals (profile.go). Each copy is decoded into the
// conditions of an Experiment. Each type checks its own values, with a checker that collects the
// problems (check.go).
//
// The Experiment is resolved (setup.go) into a Setup, which has one entry for each terminal of a
// group and the path of each terminal. Every point is repeated, which gives the runs (run.go).
package plan
