package tune

import (
	"fmt"

	"airtide/internal/kernel/sockets/owner"
)

// Group is a cgroup for one command, so that the sockets of the command and its children can be
// selected. Selection.Cgroups takes its ID.
type Group struct{ *owner.Group }

// newGroup creates a cgroup below that of this process. It removes cgroups of killed processes
// there.
func newGroup() (*Group, error) {
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

// Close removes the group. If a process of the command is still running, the group stays and the
// error says so.
func (g *Group) Close() error { return g.Remove("a later tune") }
