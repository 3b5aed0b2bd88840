package statusfeed

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"airtide/internal/share"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// Table prints an agent's status for people, within a width; 0 is no limit.
func (r *Report) Table(w io.Writer, width int, colour bool) error {
	_, err := io.WriteString(w, terminal.Wrap(units.PrintableText(r.summary(), false), width, indent))
	if err == nil {
		err = r.terminals().Write(w, width, colour)
	}
	if err == nil && len(r.Windows) > 0 {
		_, err = io.WriteString(w, "\n")
		if err == nil {
			err = r.windows().Write(w, width, colour)
		}
	}
	if err != nil || len(r.Datagrams) == 0 {
		return err
	}
	text := "\ndatagrams:"
	for _, reason := range slices.Sorted(maps.Keys(r.Datagrams)) {
		text += fmt.Sprintf(" %s %d", reason, r.Datagrams[reason])
	}
	_, err = io.WriteString(w, terminal.Wrap(units.PrintableText(text, false)+"\n", width, indent))
	return err
}

// summary returns the lines above the table of terminals, with an empty one at the end.
func (r *Report) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "agent %s, process %d, cell %s, policy %s\n", r.Agent, r.PID, r.Cell, r.Policy)
	queueOnly := share.QueueOnly(r.Policy, r.Own.StandaloneBps)
	switch {
	case !r.Bounded:
		fmt.Fprintf(&b, "windows are not bounded: %s", cmp.Or(r.Reason, "not decided yet"))
	case queueOnly != "":
		fmt.Fprintf(&b, "windows are bounded: %s", queueOnly)
	default:
		fmt.Fprintf(&b, "windows are bounded: share %s of %s Mbit/s in all", mbps(r.ShareBps), mbps(r.TotalBps))
	}
	b.WriteByte('\n')
	var limits []string
	if r.Limit != "" {
		limits = append(limits, "limited by "+r.Limit)
	}
	if r.WireBps > 0 {
		limits = append(limits, fmt.Sprintf("the wire carries %s Mbit/s", mbps(r.WireBps)))
	}
	if r.QueueTargetUs > 0 {
		limits = append(limits, fmt.Sprintf("queue target %s ms, correction %.2f", ms(r.QueueTargetUs), r.Correction))
	}
	if len(limits) > 0 {
		b.WriteString(strings.Join(limits, "; ") + "\n")
	}
	if e := r.Benefit; e != nil {
		fmt.Fprintf(&b, "with bounds %s Mbit/s in all at an RTT of %s ms, without %s at %s: bounds %s\n",
			mbps(e.TotalWithBps), ms(e.RTTWithUs), mbps(e.TotalWithoutBps), ms(e.RTTWithoutUs),
			map[bool]string{true: "help", false: "do not help"}[e.Helps])
		if e.LowestRatio > 0 {
			fmt.Fprintf(&b, "lowest rate of a terminal with bounds: %.2f of its rate without\n", e.LowestRatio)
		}
	}
	if r.ForeignQueues {
		b.WriteString("foreign queues: traffic that no agent bounds waits in the access point\n")
	}
	if r.ChannelBusy > 0 {
		fmt.Fprintf(&b, "channel busy %.0f %% of the time, %.0f %% by traffic that no agent reports\n",
			100*r.ChannelBusy, 100*r.ForeignAirtime)
	} else {
		b.WriteString("the busy time of the channel is not known\n")
	}
	for _, f := range r.Unbound {
		fmt.Fprintf(&b, "not bounded: the flow from %s to %s: %s\n", f.Local, f.Remote, f.Reason)
	}
	if r.OtherAccessPoints > 0 {
		fmt.Fprintf(&b, "terminals at other access points, which do not count: %d\n", r.OtherAccessPoints)
	}
	if r.Probe != "" {
		fmt.Fprintf(&b, "running probe: %s\n", r.Probe)
	}
	return b.String() + "\n"
}

// indent is the indent of continued lines.
const indent = 2

// terminals is the table of this terminal and its peers. The errors are counts of events.
func (r *Report) terminals() *terminal.Table {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "terminal", Least: 8},
		{Title: "state", Optional: 4},
		{Title: "PHY\nMbit/s", Right: true, Optional: 5},
		{Title: "alone\nMbit/s", Right: true, Optional: 3},
		{Title: "by", Optional: 7},
		{Title: "share\nMbit/s", Right: true},
		{Title: "up\nMbit/s", Right: true},
		{Title: "down\nMbit/s", Right: true, Optional: 1},
		{Title: "demand\nMbit/s", Right: true, Optional: 6},
		{Title: "min RTT\nms", Right: true, Optional: 8},
		{Title: "RTT\nms", Right: true, Optional: 2},
		{Title: "sent again\npackets", Right: true, Optional: 9},
		{Title: "reorder\nerrors", Right: true, Optional: 13},
		{Title: "local\nerrors", Right: true, Optional: 12},
		{Title: "dup ACK\nerrors", Right: true, Optional: 11},
		{Title: "timeout\nerrors", Right: true, Optional: 10},
	}}
	add := func(name string, t *share.Terminal) {
		cells := []string{
			name, t.State, rate(t.PHYBps), rate(t.StandaloneBps), known(t.StandaloneBps > 0, t.StandaloneSource),
			rate(t.BoundBps), mbps(t.UploadBps), mbps(t.DownloadBps), rate(t.DemandBps),
			known(t.MinRTTUs > 0, ms(t.MinRTTUs)), known(t.RTTUs > 0, ms(t.RTTUs)), fmt.Sprint(t.Retransmits),
		}
		for _, n := range t.Errors {
			cells = append(cells, fmt.Sprint(n))
		}
		table.Add(cells...)
	}
	add("this one", &r.Own)
	for i := range r.Peers {
		add(r.Peers[i].Address, &r.Peers[i])
	}
	return table
}

// windows is the table of flows with a limit.
func (r *Report) windows() *terminal.Table {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "flow", Least: 9},
		{Title: "peer", Least: 9, Optional: 1},
		{Title: "window at most", Right: true},
	}}
	for _, f := range r.Windows {
		bound := units.Count(f.Packets, "packet")
		if f.ReceiveBytes > 0 {
			bound = fmt.Sprintf("%d bytes", f.ReceiveBytes)
		}
		table.Add(fmt.Sprint(f.Local), fmt.Sprint(f.Remote), bound)
	}
	return table
}

// rate formats a rate in Mbit/s, and "-" for an unknown or unlimited rate.
func rate(bps float64) string {
	return known(bps > 0, mbps(bps))
}

// known returns text if the value is known, otherwise "-".
func known(is bool, text string) string {
	if !is {
		return "-"
	}
	return text
}

func mbps(bps float64) string { return fmt.Sprintf("%.1f", bps/1e6) }

func ms(us int64) string { return fmt.Sprintf("%.1f", float64(us)/1e3) }
