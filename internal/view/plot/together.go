package plot

import (
	"cmp"
	"fmt"

	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

// MaxTogether is the most flows of one panel; more could not be told apart.
const MaxTogether = 24

// quantity is the quantity of a flow that is compared with other flows.
type quantity struct {
	axis   figure.Axis
	series func(*view) figure.Series
	rtt    bool // may have a logarithmic axis
}

var (
	cwndOfFlows = quantity{
		axis:   figure.Axis{Label: "cwnd", Unit: units.Packets},
		series: func(v *view) figure.Series { return v.line("", tcp.CwndPackets, figure.Style{}) },
	}
	rttOfFlows = quantity{
		axis:   figure.Axis{Label: "smoothed RTT", Unit: units.Microseconds},
		series: func(v *view) figure.Series { return v.line("", tcp.SrttUs, figure.Style{}) },
		rtt:    true,
	}
	goodputOfFlows = quantity{
		axis: figure.Axis{Label: "goodput", Unit: units.Rates},
		series: func(v *view) figure.Series {
			return v.draw("", v.goodput(v.either(tcp.AckedBytes, tcp.ReceivedBytes)), figure.Style{})
		},
	}
	queueOfFlows = quantity{
		axis: figure.Axis{Label: "socket queue", Unit: units.Sizes},
		series: func(v *view) figure.Series {
			return v.line("", v.either(tcp.SendQueuedBytes, tcp.ReceiveQueuedBytes), figure.Style{})
		},
	}
	inFlightOfFlows = quantity{
		axis:   figure.Axis{Label: "in flight", Unit: units.Sizes},
		series: func(v *view) figure.Series { return v.line("", tcp.InFlightBytes, figure.Style{}) },
	}
	kOfFlows = quantity{
		axis:   figure.Axis{Label: "K", Unit: units.Milliseconds},
		series: func(v *view) figure.Series { return v.line("", tcp.CubicKMs, figure.Style{}) },
	}
	bandwidthOfFlows = quantity{
		axis:   figure.Axis{Label: "bandwidth estimate", Unit: units.Rates},
		series: func(v *view) figure.Series { return clip(v.line("", tcp.BBRBandwidthBps, figure.Style{})) },
	}
	streamOfFlows = quantity{
		axis: figure.Axis{Label: "stream offset", Unit: units.Sizes},
		series: func(v *view) figure.Series {
			return v.line("", v.either(tcp.AckedBytes, tcp.ReceivedBytes), figure.Style{})
		},
	}
)

// either is the field of the direction with more bytes.
func (v *view) either(sent, received tcp.Field) tcp.Field {
	if v.receives() {
		return received
	}
	return sent
}

// together draws several flows in one panel for each quantity of a kind.
func together(v *view, d definition, flows []*FlowSeries) *figure.Figure {
	cell := figure.Cell{}
	for _, q := range d.together {
		p := figure.Panel{Left: q.axis, Empty: "no " + q.axis.Label + " was recorded here"}
		if q.rtt && v.o.LogRTT {
			p.Left.Kind = figure.Log
		}
		for i, flow := range flows {
			v.FlowSeries = flow
			s := q.series(v)
			s.Name = flow.shortLabel()
			s.Style = figure.StyleOf(i)
			s.Style.Marker = figure.NoMarker
			s.Style.Width = 1.1
			p.Series = append(p.Series, s)
		}
		cell.Panels = append(cell.Panels, p)
	}
	return &figure.Figure{
		Title: cmp.Or(v.o.Title, titleOf(flows)), X: v.timeAxis(), HeightCm: d.heightCm,
		Legend: figure.SharedLegend, Cells: []figure.Cell{cell},
	}
}

// shortLabel names a flow in a legend: its number, congestion control and local port.
func (fs *FlowSeries) shortLabel() string {
	label := fmt.Sprintf("flow %d", fs.Flow.ID)
	if cc := fs.congestionControl(); cc != "" {
		label += ", " + cc
	}
	if fs.Flow.Local.IsValid() {
		label += fmt.Sprintf(", port %d", fs.Flow.Local.Port())
	}
	return label
}

// titleOf is the process of several flows, if they have the same.
func titleOf(flows []*FlowSeries) string {
	title := flows[0].Flow.Comm
	for _, f := range flows {
		if f.Flow.Comm != title {
			title = ""
		}
	}
	if title == "" {
		return fmt.Sprintf("%d flows", len(flows))
	}
	return fmt.Sprintf("%s, %d flows", title, len(flows))
}
