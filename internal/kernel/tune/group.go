package tune

import (
	"fmt"

	"airtide/internal/sockets/owner"
)

// Group is a cgroup for one command, so that its sockets and those of its children are told from
// others. Its ID is what Selection.Cgroups takes.
type Group struct{ *owner.Group }

// NewGroup makes a cgroup below that of this process, and removes those that killed processes have
// left there.
func NewGroup() (*Group, error) {
	groups, err := owner.OpenCgroups()
	if err != nil {
		return nil, fmt.Errorf("telling the command's sockets from others: %w", err)
	}
	g, err := groups.NewGroup("airtide-tune-")
	if err != nil {
		return nil, fmt.Errorf("making a cgroup for the command: %w", err)
	}
	return &Group{g}, nil
}

// Close removes the group. While a process of the command goes on running it stays, and the error
// says so.
func (g *Group) Close() error { return g.Remove("a later tune") }
