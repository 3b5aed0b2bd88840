package statusfeed

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"airtide/internal/share"
)

// Table prints an agent's status for people.
func (r *Report) Table(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "agent %s, process %d, cell %s, policy %s\n", r.Agent, r.PID, r.Cell, r.Policy)
	if r.Bounded {
		fmt.Fprintf(&b, "windows are bounded: share %s of %s Mbit/s in all", mbps(r.ShareBps), mbps(r.TotalBps))
	} else {
		fmt.Fprintf(&b, "windows are not bounded: %s", cmp.Or(r.Reason, "not decided yet"))
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
		fmt.Fprintf(&b, "with bounds %s Mbit/s in all at an RTT of %s ms, without %s at %s: bounds %s\n", mbps(
			e.TotalWithBps,
		), ms(e.RTTWithUs),
			mbps(e.TotalWithoutBps), ms(e.RTTWithoutUs), map[bool]string{true: "help", false: "do not help"}[e.Helps])
		if e.LowestRatio > 0 {
			fmt.Fprintf(
				&b, "lowest rate of a terminal with bounds: %.2f of its rate without\n",
				e.LowestRatio,
			)
		}
	}
	if r.ForeignQueues {
		b.WriteString("foreign queues: traffic of terminals without an agent waits in the access point\n")
	}
	if r.OtherAccessPoints > 0 {
		fmt.Fprintf(&b, "terminals at other access points, which do not count: %d\n", r.OtherAccessPoints)
	}
	if r.Probe != "" {
		fmt.Fprintf(&b, "running probe: %s\n", r.Probe)
	}
	b.WriteByte('\n')
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(
		t, "terminal\tstate\tPHY\talone\tby\tshare\tup\tdown\tdemand\tmin RTT\tRTT\tsent again\terrors 1 to 4\t",
	)
	fmt.Fprintln(t, "\t\tMbit/s\tMbit/s\t\tMbit/s\tMbit/s\tMbit/s\tMbit/s\tms\tms\t\t\t")
	terminal(t, "this one", &r.Own)
	for i := range r.Peers {
		terminal(t, r.Peers[i].Address, &r.Peers[i])
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(r.Windows) > 0 {
		fmt.Fprintln(t, "\nflow\t\twindow at most\t")
		for _, f := range r.Windows {
			bound := fmt.Sprintf("%d packets", f.Packets)
			if f.ReceiveBytes > 0 {
				bound = fmt.Sprintf("%d bytes", f.ReceiveBytes)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t\n", f.Local, f.Remote, bound)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(r.Datagrams) > 0 {
		b.WriteString("\ndatagrams:")
		for _, reason := range slices.Sorted(maps.Keys(r.Datagrams)) {
			fmt.Fprintf(&b, " %s %d", reason, r.Datagrams[reason])
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func terminal(w io.Writer, name string, t *share.Terminal) {
	var errors []string
	for _, n := range t.Errors {
		errors = append(errors, fmt.Sprint(n))
	}
	cells := []string{
		name, t.State, rate(t.PHYBps), rate(t.StandaloneBps),
		known(t.StandaloneBps > 0, t.StandaloneSource), rate(t.BoundBps),
		mbps(t.UploadBps), mbps(t.DownloadBps),
		rate(t.DemandBps), known(t.MinRTTUs > 0, ms(t.MinRTTUs)), known(t.RTTUs > 0, ms(t.RTTUs)),
		fmt.Sprint(t.Retransmits), strings.Join(errors, " "),
	}
	fmt.Fprintln(w, strings.Join(cells, "\t")+"\t")
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
