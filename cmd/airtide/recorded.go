package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/units"
)

// recordedFlags choose flows of a recording, by the flags with which monitor and record choose
// flows of this host.
type recordedFlags struct {
	selectionFlags
	find string
}

func (f *recordedFlags) register(cmd *cobra.Command) {
	f.selectionFlags.register(cmd, "only flows")
	cmd.Flags().StringVar(&f.find, "find", "", "only flows that contain these words")
}

// recordedFilter chooses flows of a recording.
type recordedFilter struct {
	filter.Filter
	given   string   // the flags
	cgroups []string // paths, names or ids; of the recording, not of this host
	words   []string // in lower case
}

// filter reads the flags. Its errors are usage errors.
func (f *recordedFlags) filter() (recordedFilter, error) {
	flags := f.selectionFlags
	if len(flags.cgroups) > 0 && !slices.Contains(flags.cgroups, "") {
		flags.cgroups = nil
	}
	shared, err := flags.filter()
	if err != nil {
		return recordedFilter{}, usageError{err}
	}
	given := f.selectionFlags.String()
	if f.find != "" {
		given = strings.TrimSpace(fmt.Sprintf("%s --find %q", given, units.Printable(f.find)))
	}
	return recordedFilter{shared, given, f.cgroups, strings.Fields(strings.ToLower(f.find))}, nil
}

func (f *recordedFilter) empty() bool { return f.Empty() && len(f.cgroups)+len(f.words) == 0 }

func (f *recordedFilter) match(flow *tcp.Flow) bool {
	if !f.Match(flow, nil) {
		return false
	}
	if len(f.cgroups) > 0 &&
		!slices.ContainsFunc(f.cgroups, func(want string) bool { return inCgroup(flow, want) }) {
		return false
	}
	text := strings.ToLower(fmt.Sprint(flow.Comm, " ", flow.PID, " ", tcp.Endpoint(flow.Local), " ",
		tcp.Endpoint(flow.Remote), " ", flow.CongestionControl, " ", flow.CgroupPath))
	return !slices.ContainsFunc(f.words, func(w string) bool { return !strings.Contains(text, w) })
}

// inCgroup reports whether a flow was in a cgroup or below it. The cgroup is a path, the last name
// of a path, or an id.
func inCgroup(flow *tcp.Flow, want string) bool {
	if id, err := strconv.ParseUint(want, 10, 64); err == nil && id == flow.Cgroup {
		return true
	}
	within := flow.CgroupPath + "/"
	if strings.HasPrefix(want, "/") {
		return strings.HasPrefix(within, strings.TrimRight(want, "/")+"/")
	}
	return want != "" && strings.Contains(within, "/"+want+"/")
}

// flows returns the flows of a recording that pass, nil for all. It refuses a filter that nothing
// matches.
func (f *recordedFilter) flows(ctx context.Context, r *reading) ([]tcp.FlowID, error) {
	if f.empty() {
		return nil, nil
	}
	chosen := &chosenFlows{filter: f, seen: map[tcp.FlowID]bool{}}
	if err := r.scan(ctx, "choosing flows of", trace.ScanOptions{Fields: []tcp.Field{}}, chosen); err != nil {
		return nil, err
	}
	var ids []tcp.FlowID
	for id, matches := range chosen.seen {
		if matches {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s: none of %s matches %s", r.path, units.Count(len(chosen.seen), "flow"), f.given)
	}
	slices.Sort(ids)
	return ids, nil
}

// chosenFlows is a sink that keeps which flows match. A later description may know more.
type chosenFlows struct {
	tcp.Discard
	filter *recordedFilter
	seen   map[tcp.FlowID]bool
}

func (c *chosenFlows) Flow(f *tcp.Flow) error {
	c.seen[f.ID] = c.seen[f.ID] || c.filter.match(f)
	return nil
}
