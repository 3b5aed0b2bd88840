package live

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

// Table prints how an agent is doing.
func (r *Report) Table(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "agent %s, process %d, cell %s, policy %s\n", r.Agent, r.PID, r.Cell, r.Policy)
	if r.Held {
		fmt.Fprintf(&b, "bounds are held: share %s of %s Mbit/s in all", mbps(r.ShareBps), mbps(r.TotalBps))
	} else {
		fmt.Fprintf(&b, "no bounds: %s", cmp.Or(r.Why, "not decided yet"))
	}
	b.WriteByte('\n')
	var limits []string
	if r.Limit != "" {
		limits = append(limits, "limited by "+r.Limit)
	}
	if r.CapacityBps > 0 {
		limits = append(limits, fmt.Sprintf("the wire carries %s Mbit/s", mbps(r.CapacityBps)))
	}
	if r.QueueTargetUs > 0 {
		limits = append(limits, fmt.Sprintf("queue target %s ms, correction %.2f", ms(r.QueueTargetUs), r.Correction))
	}
	if len(limits) > 0 {
		b.WriteString(strings.Join(limits, "; ") + "\n")
	}
	if e := r.Effect; e != nil {
		fmt.Fprintf(&b, "with bounds %s Mbit/s in all at an RTT of %s ms, without %s at %s: bounds %s\n", mbps(
			e.TotalWithBps,
		), ms(e.RTTWithUs),
			mbps(e.TotalWithoutBps), ms(e.RTTWithoutUs), map[bool]string{true: "help", false: "do not help"}[e.Helps])
		if e.LeastPart > 0 {
			fmt.Fprintf(&b, "of those that want all, the one that gains least has %.2f of what it has without\n",
				e.LeastPart)
		}
	}
	if r.Foreign {
		b.WriteString("others who do not take part have queues stand: windows are as large as that needs\n")
	}
	if r.Elsewhere > 0 {
		fmt.Fprintf(&b, "at other access points, and not reckoned with: %d\n", r.Elsewhere)
	}
	if r.Turn != "" {
		fmt.Fprintf(&b, "a probe of all terminals: %s\n", r.Turn)
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
		name, t.State, rate(t.PHYBps), rate(t.MaxBps), known(t.MaxBps > 0, t.MaxSource), rate(t.BoundBps),
		mbps(t.UploadBps), mbps(t.DownloadBps),
		rate(t.DemandBps), known(t.MinRTTUs > 0, ms(t.MinRTTUs)), known(t.RTTUs > 0, ms(t.RTTUs)),
		fmt.Sprint(t.Retransmits), strings.Join(errors, " "),
	}
	fmt.Fprintln(w, strings.Join(cells, "\t")+"\t")
}

// rate formats a rate in Mbit/s. It returns "" for an unknown or unlimited rate.
func rate(bps float64) string {
	return known(bps > 0, mbps(bps))
}

// known returns text if the value is known, otherwise "".
func known(is bool, text string) string {
	if !is {
		return "-"
	}
	return text
}

func mbps(bps float64) string { return fmt.Sprintf("%.1f", bps/1e6) }

func ms(us int64) string { return fmt.Sprintf("%.1f", float64(us)/1e3) }
