package tune

import (
	"errors"
	"fmt"
	"strings"

	"airtide/internal/kernel/sockets/filter"
)

// Selection selects sockets, with the same terms as the monitor's filter.
type Selection struct {
	filter.Filter
	// All selects every socket of the machine. It has to be set explicitly, since it can do much
	// harm.
	All bool `json:"all,omitempty"`
}

// Check returns an error for an invalid selection.
func (s *Selection) Check() error {
	if s.Empty() && !s.All {
		return errors.New("no sockets are chosen: give --port, --host, --process, --cgroup, --netns or --all, or a " +
			"command behind --")
	}
	if !s.Empty() && s.All {
		return errors.New("all sockets are picked, and some of them too: give one")
	}
	return s.Filter.Check()
}

// byProcess reports whether sockets are selected by process.
func (s *Selection) byProcess() bool { return len(s.PIDs)+len(s.Comms) > 0 }

// onlyNetNS reports whether whole network namespaces are selected.
func (s *Selection) onlyNetNS() bool {
	return len(s.NetNS) > 0 && len(s.Ports)+len(s.Prefixes)+len(s.Cgroups) == 0 && !s.byProcess()
}

// String returns the selection as command line flags.
func (s *Selection) String() string {
	if s.All {
		return "all"
	}
	var parts []string
	for _, p := range s.Ports {
		parts = append(parts, fmt.Sprintf("port=%d", p))
	}
	for _, p := range s.Prefixes {
		parts = append(parts, fmt.Sprintf("host=%s", p))
	}
	for _, p := range s.PIDs {
		parts = append(parts, fmt.Sprintf("process=%d", p))
	}
	for _, c := range s.Comms {
		parts = append(parts, fmt.Sprintf("process=%s", c))
	}
	for _, c := range s.Cgroups {
		parts = append(parts, fmt.Sprintf("cgroup=%d", c))
	}
	for _, n := range s.NetNS {
		parts = append(parts, fmt.Sprintf("netns=%d", n))
	}
	return strings.Join(parts, " ")
}
