// Package plan reads an experiment: a YAML file that names terminals, cell, path, servers, flows, a
// sweep, recordings, measurements and claims becomes a checked plan of runs. It is pure: it reads
// no file and starts nothing.
//
// The way of a file: parse (tree.go) into nodes that know their place; the sweep (sweep.go) sets
// values in copies of the tree, one for each point; profiles of terminals are laid under
// (profile.go); each tree is decoded (decode.go) into an Experiment and checked (check.go), and
// resolved (setup.go) into what a run needs, with groups of terminals expanded and the path of each
// terminal computed. Points times repeats are the runs (run.go).
package plan
