package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/units"
)

// flowIDs converts flow numbers. It returns nil, which means all flows, for an empty list.
func flowIDs(list []uint) (ids []tcp.FlowID) {
	for _, n := range list {
		ids = append(ids, tcp.FlowID(n))
	}
	return ids
}

// flowsVar adds --flow, the numbers of flows of a recording.
func flowsVar(cmd *cobra.Command, to *[]uint, usage string) {
	cmd.Flags().UintSliceVar(to, "flow", nil, usage)
	cmd.Flags().Lookup("flow").DefValue = "" // else the help shows "[]"
	completeFlows(cmd)
}

// completeFlows completes --flow with the flows of the recording that the command line names.
func completeFlows(cmd *cobra.Command) {
	complete := func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		r, err := trace.Open(args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer r.Close()
		names := &flowNames{ends: map[tcp.FlowID]string{}}
		if err := r.Scan(cmd.Context(), trace.ScanOptions{Fields: []tcp.Field{}}, names); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		first := word[:strings.LastIndex(word, ",")+1] // the numbers before the last comma
		var words []string
		for _, id := range slices.Sorted(maps.Keys(names.ends)) {
			words = append(words, fmt.Sprintf("%s%d\t%s", first, id, names.ends[id]))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	_ = cmd.RegisterFlagCompletionFunc("flow", complete)
}

// flowNames is a sink that keeps process and addresses of each flow.
type flowNames struct {
	tcp.Discard
	ends map[tcp.FlowID]string
}

func (n *flowNames) Flow(f *tcp.Flow) error {
	n.ends[f.ID] = units.Printable(fmt.Sprintf("%s %s > %s", f.Comm, tcp.Endpoint(f.Local), tcp.Endpoint(f.Remote)))
	return nil
}

// needFlows refuses a flow that the recording lacks and lists the flows that it has.
func needFlows(ctx context.Context, r *reading, asked []tcp.FlowID, has func(tcp.FlowID) bool) error {
	i := slices.IndexFunc(asked, func(id tcp.FlowID) bool { return !has(id) })
	if i < 0 {
		return nil
	}
	existing := &flowList{}
	if err := r.scan(ctx, "listing the flows of", trace.ScanOptions{Fields: []tcp.Field{}}, existing); err != nil {
		return err
	}
	return usageError{fmt.Errorf("%s has no flow %d: it has %s", r.path, asked[i], existing)}
}

// flowList is a sink that keeps the numbers of the flows.
type flowList struct {
	tcp.Discard
	ids []tcp.FlowID
}

func (l *flowList) Flow(f *tcp.Flow) error {
	l.ids = append(l.ids, f.ID)
	return nil
}

// maxRanges bounds how many ranges of numbers an error lists; a damaged recording may have gaps
// everywhere.
const maxRanges = 8

// String lists the numbers by ranges: "1 to 3, 5".
func (l *flowList) String() string {
	ids := slices.Clone(l.ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var ranges []string
	for len(ids) > 0 && len(ranges) < maxRanges {
		n := 1
		for n < len(ids) && ids[n] == ids[0]+tcp.FlowID(n) {
			n++
		}
		text := fmt.Sprint(ids[0])
		if n > 1 {
			text = fmt.Sprintf("%d to %d", ids[0], ids[n-1])
		}
		ranges = append(ranges, text)
		ids = ids[n:]
	}
	switch {
	case len(ranges) == 0:
		return "none"
	case len(ids) > 0:
		ranges = append(ranges, fmt.Sprintf("%d more", len(ids)))
	}
	return strings.Join(ranges, ", ")
}
