// Package plan reads an experiment. It turns a YAML file with terminals, cell, path, servers,
// flows, a sweep, recordings, measurements and claims into a checked plan of runs. The package is
// pure: it reads no file and starts nothing.
//
// A file passes through these steps. It is parsed (tree.go) into nodes with positions. The sweep
// (sweep.go) sets values in copies of the tree, one copy for each point.
//
// Profiles supply missing fields of terminals (profile.go). Each tree is decoded (decode.go) into
// an Experiment and checked (check.go).
//
// The Experiment is resolved (setup.go) into a Setup, which has one entry for each terminal of a
// group and the path of each terminal. Every point is repeated, which gives the runs (run.go).
package plan
