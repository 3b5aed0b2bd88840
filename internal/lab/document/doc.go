// Package document reads a YAML file into a tree of nodes with positions, and decodes nodes into Go
// values by their json tags. It collects problems, each with file, line and column, the text found
// and the text expected, so that one check reports them all.
//
// It knows no experiment: package plan defines what a file may contain.
package document
