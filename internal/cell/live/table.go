package live

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"airtide/internal/cell"
)

// Seen is a cell over the time between two reports.
type Seen struct {
	Name   string             `json:"name"`
	PID    int                `json:"pid"`
	Hosts  []cell.Host        `json:"hosts"`
	Window *cell.Window       `json:"window"`
	Engine *cell.EngineStatus `json:"engine"`
}

// Between returns the activity from one report to a later report of the same cell.
func Between(from, to *Report) *Seen {
	return &Seen{to.Name, to.PID, to.Hosts, cell.Between(from.Status, to.Status), to.Status.Engine}
}

// Table prints the activity as tables.
func (s *Seen) Table(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "cell %s, process %d, %s since it began", s.Name, s.PID,
		time.Duration(s.Window.ToNs).Truncate(time.Second))
	if e := s.Engine; e != nil {
		fmt.Fprintf(&b, "; engine late by %.2f ms at most for 99 %% of the packets", float64(e.Lag.P99Ns)/1e6)
	}
	b.WriteString("\n\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(
		t,
		"\tPHY\tairtime\tsent\treceived\tcollisions\tretries\tA-MPDU\t95 %\tqueue\t95 %\tstay\tAP queue\t95 "+
			"%\tstay\tdrops\t",
	)
	fmt.Fprintln(t,
		"\tMbit/s\t%\tMbit/s\tMbit/s\t%\t%\tframes\tframes\tpackets\tpackets\tms\tpackets\tpackets\tms\tpackets\t")
	for i := range s.Window.Terminals {
		row(t, &s.Window.Terminals[i])
	}
	ap := &s.Window.AP
	fmt.Fprintf(
		t, "access point\t\t%.1f\t%.1f\t%s\t%.1f\t%.1f\t%.1f\t%d\t\t\t\t%.1f\t%d\t%.2f\t%d\t\n",
		ap.Radio.AirtimePercent, ap.Radio.RateMbps, "",
		ap.Radio.CollisionsPercent, ap.Radio.RetriesPercent, ap.Radio.AggregationFrames, ap.Radio.AggregationP95,
		ap.Queue.MeanPackets, ap.Queue.P95Packets,
		ap.Queue.Sojourn.MedianMs, ap.Queue.Dropped)
	wire(t, "wire up", &s.Window.WireUp)
	wire(t, "wire down", &s.Window.WireDown)
	if err := t.Flush(); err != nil {
		return err
	}
	if s.Engine != nil {
		for _, warning := range s.Engine.Warnings {
			fmt.Fprintf(&b, "\n%s\n", warning)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func row(w io.Writer, t *cell.TerminalWindow) {
	if t.Ethernet {
		fmt.Fprintf(
			w, "%s\tEthernet\t\t%.1f\t%.1f\t\t\t\t\t\t\t\t\t\t\t%d\t\n", t.Name, t.SentMbps, t.ReceivedMbps,
			t.Drops.Total(),
		)
		return
	}
	fmt.Fprintf(
		w, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%d\t%.1f\t%d\t%.2f\t%.1f\t%d\t%.2f\t%d\t\n", t.Name,
		float64(t.PHYRateBps)/1e6,
		t.AirtimePercent, t.SentMbps, t.ReceivedMbps, t.Up.CollisionsPercent, t.Up.RetriesPercent,
		t.Up.AggregationFrames, t.Up.AggregationP95,
		t.Queue.MeanPackets, t.Queue.P95Packets, t.Queue.Sojourn.MedianMs,
		t.APQueue.MeanPackets, t.APQueue.P95Packets, t.APQueue.Sojourn.MedianMs, t.Drops.Total())
}

func wire(w io.Writer, name string, wire *cell.WireWindow) {
	rate := "no limit"
	if wire.RateBps > 0 {
		rate = fmt.Sprintf("%.1f", float64(wire.RateBps)/1e6)
	}
	fmt.Fprintf(
		w, "%s\t%s\t\t%.1f\t\t\t\t\t\t%.1f\t%d\t%.2f\t\t\t\t%d\t\n", name, rate, wire.RateMbps,
		wire.Queue.MeanPackets,
		wire.Queue.P95Packets, wire.Queue.Sojourn.MedianMs, wire.Queue.Dropped)
}
