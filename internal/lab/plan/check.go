package plan

import (
	"fmt"
	"slices"

	"airtide/internal/lab/document"
)

// checker checks that a decoded experiment can run. The tree gives the positions of problems in the
// file.
type checker struct {
	tree     *document.Node
	problems *Problems
	e        *Experiment
	machines directory
	// parameters of the sweep.
	parameters []Parameter
	// cellAlone is true for a cell without flows.
	cellAlone bool
}

// problem adds a problem at a path, or at the longest existing part of that path.
func (c *checker) problem(path, found, expected string) {
	at, _ := c.tree.Find(path)
	c.problems.Add(at.Position, path, found, expected)
}

// found quotes the value at a path.
func (c *checker) found(path string) string {
	n, ok := c.tree.Find(path)
	if !ok {
		return "nothing"
	}
	return n.Describe()
}

func (c *checker) has(path string) bool {
	_, ok := c.tree.Find(path)
	return ok
}

// Bounds of an experiment.
const (
	maxRepeats   = 1000
	maxTerminals = 250
	maxFlows     = 1000
	// maxMachineName leaves space for the number in a group, because an interface's name has at
	// most 15 letters.
	maxMachineName = 12
	minDuration    = Duration(100e6)
)

func (c *checker) time(path string, at Duration, before *Duration) {
	if at < *before {
		c.problem(path, at.String(), fmt.Sprintf("times in order: the one before is %s", *before))
	}
	if at >= c.e.Duration {
		c.problem(path, at.String(), fmt.Sprintf("less than the duration, %s", c.e.Duration))
	}
	*before = at
}

// references checks that names refer to machines.
func (c *checker) references(path string, names Names) bool {
	ok := true
	for i, n := range names {
		if _, known := c.machines.groups[n]; !known {
			ok = false
			c.problem(c.item(path, i), fmt.Sprintf("%q", n), document.OneOf(n, c.known()))
		}
	}
	return ok
}

// item returns the path of a name in a list that may be a single name.
func (c *checker) item(path string, i int) string {
	if n, ok := c.tree.Find(path); ok && n.Kind == document.Sequence {
		return fmt.Sprintf("%s.%d", path, i)
	}
	return path
}

// known returns the names that a file can refer to: its own names, without the members of groups.
func (c *checker) known() []string {
	return slices.Concat(c.e.Terminals.Names(), c.e.Servers.Names(), []string{allTerminals, allMachines})
}
