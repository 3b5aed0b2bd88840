package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/observe/bpf"
	"airtide/internal/observe/monitor"
	"airtide/internal/sockets/filter"
	"airtide/internal/sockets/owner"
)

// sourceFlags are the flags of the verbs that observe: which flows, how densely, by which source.
type sourceFlags struct {
	source, density, attach, btf string
	ports, hosts, processes      []string
	cgroups, netns               []string
	poll                         time.Duration
	buffer, maxFlows             int
}

func (f *sourceFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.source, "source", "auto", "where samples come from: auto, bpf (per ACK) or diag (polled)")
	fl.StringVar(&f.density, "density", "every", "which ACKs become samples: every, change, or at most one per duration (10ms)")
	fl.StringSliceVarP(&f.ports, "port", "p", nil, "only flows with this local or remote port (repeatable)")
	fl.StringSliceVar(&f.hosts, "host", nil, "only flows with this local or remote address or prefix (repeatable)")
	fl.StringSliceVar(&f.processes, "process", nil, "only flows of this process id or name (repeatable)")
	fl.StringSliceVar(&f.cgroups, "cgroup", nil, "only flows of this cgroup v2 path, name or id, and below (repeatable)")
	fl.StringSliceVar(&f.netns, "netns", nil, "only flows of this network namespace: name, path, inode or pid:N (repeatable)")
	fl.DurationVar(&f.poll, "poll", 100*time.Millisecond, "time between polls of the diag source")
	fl.IntVar(&f.buffer, "buffer-mb", bpf.DefaultBufferBytes>>20, "size of each processor's ring of records in MiB")
	fl.IntVar(&f.maxFlows, "max-flows", bpf.DefaultMaxFlows, "number of flows that can be followed at once")
	fl.StringVar(&f.attach, "attach", "", "force the kind of BPF program: tp_btf_trusted, tp_btf or raw_tp")
	fl.StringVar(&f.btf, "btf", "", "file with the kernel's BTF, where the kernel has none")
	for _, c := range []struct {
		flag   string
		values []string
	}{
		{"source", []string{"auto", "bpf", "diag"}},
		{"attach", []string{"tp_btf_trusted", "tp_btf", "raw_tp"}},
		{"density", []string{"every", "change", "10ms", "100ms", "1s"}},
	} {
		_ = cmd.RegisterFlagCompletionFunc(c.flag, cobra.FixedCompletions(c.values, cobra.ShellCompDirectiveNoFileComp))
	}
}

// options turns the flags into the monitor's options; its errors are misuse.
func (f *sourceFlags) options() (monitor.Options, error) {
	o, err := f.parse()
	if err != nil {
		return o, misuse{err}
	}
	return o, nil
}

func (f *sourceFlags) parse() (o monitor.Options, err error) {
	if o.Source, err = monitor.ParseKind(f.source); err != nil {
		return o, err
	}
	if o.Density, err = filter.ParseDensity(f.density); err != nil {
		return o, err
	}
	switch bpf.Attach(f.attach) {
	case bpf.AttachAuto, bpf.AttachTrusted, bpf.AttachTPBTF, bpf.AttachRawTP:
		o.Attach = bpf.Attach(f.attach)
	default:
		return o, fmt.Errorf("--attach %q: want tp_btf_trusted, tp_btf or raw_tp", f.attach)
	}
	if f.buffer < 1 || f.buffer > 1024 {
		return o, fmt.Errorf("--buffer-mb %d: want 1 to 1024", f.buffer)
	}
	if f.maxFlows < 1 || f.maxFlows > 1<<22 {
		return o, fmt.Errorf("--max-flows %d: want 1 to %d", f.maxFlows, 1<<22)
	}
	if f.poll < time.Millisecond {
		return o, fmt.Errorf("--poll %s: want at least 1ms", f.poll)
	}
	if f.btf != "" {
		if _, err := os.Stat(f.btf); errors.Is(err, fs.ErrNotExist) {
			return o, fmt.Errorf("--btf: %w", err)
		}
	}
	o.BTFPath, o.Poll = f.btf, f.poll
	o.BufferBytes, o.MaxFlows = f.buffer<<20, f.maxFlows
	o.AllNamespaces = os.Geteuid() == 0
	o.Filter, err = f.filter()
	return o, err
}

func (f *sourceFlags) filter() (filter.Filter, error) {
	var out filter.Filter
	for _, given := range []struct {
		flag   string
		values []string
	}{{"port", f.ports}, {"host", f.hosts}, {"process", f.processes}, {"cgroup", f.cgroups}, {"netns", f.netns}} {
		if given.values != nil && (len(given.values) == 0 || slices.Contains(given.values, "")) {
			return out, fmt.Errorf("--%s: it is empty, which would let all flows through: leave it out if that is meant", given.flag)
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
