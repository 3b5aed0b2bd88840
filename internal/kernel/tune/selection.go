package tune

import (
	"errors"
	"fmt"
	"strings"

	"airtide/internal/sockets/filter"
)

// Selection picks sockets. Its words are those of the monitor's filter.
type Selection struct {
	filter.Filter
	// All picks every socket of the machine; it is to be asked for, since so much can be harmed by
	// it.
	All bool `json:"all,omitempty"`
}

// Check tells what is wrong with a selection.
func (s *Selection) Check() error {
	if s.Empty() && !s.All {
		return errors.New("no sockets are picked: name a port, host, process, cgroup or network namespace, or all")
	}
	if !s.Empty() && s.All {
		return errors.New("all sockets are picked, and some of them too: give one")
	}
	return s.Filter.Check()
}

// byProcess says whether sockets are picked by their processes.
func (s *Selection) byProcess() bool { return len(s.PIDs)+len(s.Comms) > 0 }

// onlyNetNS says whether whole network namespaces are picked, with all of their sockets.
func (s *Selection) onlyNetNS() bool {
	return len(s.NetNS) > 0 && len(s.Ports)+len(s.Prefixes)+len(s.Cgroups) == 0 && !s.byProcess()
}

// String names what is picked, as flags of the command line.
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
