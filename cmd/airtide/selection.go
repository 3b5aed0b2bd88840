package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/units"
)

// selectionFlags choose flows or sockets by port, host, process, cgroup and network namespace.
type selectionFlags struct {
	ports, hosts, processes, cgroups, netns []string
}

// register describes the flags as a choice of "only flows" or "sockets".
func (f *selectionFlags) register(cmd *cobra.Command, what string) {
	fl := cmd.Flags()
	fl.StringSliceVarP(&f.ports, "port", "p", nil, what+" with this local or remote port (repeatable)")
	fl.StringSliceVar(&f.hosts, "host", nil, what+" with this local or remote address or prefix (repeatable)")
	fl.StringSliceVar(&f.processes, "process", nil, what+" of this process id or name (repeatable)")
	fl.StringSliceVar(&f.cgroups, "cgroup", nil, what+" of this cgroup v2 path, name or id, and below (repeatable)")
	fl.StringSliceVar(&f.netns, "netns", nil,
		what+" of this network namespace: name, path, inode or pid:N (repeatable)")
	_ = cmd.RegisterFlagCompletionFunc("netns", completeNetNS)
}

// String is the flags as they were given, in a fixed order.
func (f *selectionFlags) String() string {
	var words []string
	for _, given := range f.given() {
		for _, value := range given.values {
			words = append(words, "--"+given.flag+" "+value)
		}
	}
	return units.Printable(strings.Join(words, " "))
}

// givenFlag is a flag with its values.
type givenFlag struct {
	flag   string
	values []string
}

func (f *selectionFlags) given() []givenFlag {
	return []givenFlag{
		{"port", f.ports}, {"host", f.hosts}, {"process", f.processes}, {"cgroup", f.cgroups}, {"netns", f.netns},
	}
}

// completeNetNS completes the names of `ip netns`.
func completeNetNS(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	all, _, err := owner.ListNetNS()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for _, n := range all {
		if n.Name != "" {
			names = append(names, n.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// filter reads the flags. A flag that is given but empty is refused: it would select everything.
func (f *selectionFlags) filter() (filter.Filter, error) {
	var out filter.Filter
	for _, given := range f.given() {
		if given.values != nil && (len(given.values) == 0 || slices.Contains(given.values, "")) {
			return out, fmt.Errorf("--%s: it is empty, which would select everything: leave it out if that is meant",
				given.flag)
		}
	}
	for _, s := range f.ports {
		p, err := filter.ParsePort(s)
		if err != nil {
			return out, err
		}
		out.Ports = append(out.Ports, p)
	}
	for _, s := range f.hosts {
		p, err := filter.ParsePrefix(s)
		if err != nil {
			return out, err
		}
		out.Prefixes = append(out.Prefixes, p)
	}
	for _, s := range f.processes {
		if pid, err := strconv.ParseUint(s, 10, 32); err == nil {
			out.PIDs = append(out.PIDs, uint32(pid))
			continue
		}
		out.Comms = append(out.Comms, strings.TrimSpace(s))
	}
	if len(f.cgroups) > 0 {
		groups, err := owner.OpenCgroups()
		if err != nil {
			return out, err
		}
		for _, s := range f.cgroups {
			id, err := groups.ID(s)
			if err != nil {
				return out, err
			}
			out.Cgroups = append(out.Cgroups, id)
		}
	}
	for _, s := range f.netns {
		inode, err := owner.ParseNetNS(s)
		if err != nil {
			return out, err
		}
		out.NetNS = append(out.NetNS, inode)
	}
	return out, out.Check()
}
