package report

import (
	"fmt"

	"airtide/internal/tcp"
)

// cubicFigure shows K as P5 figures 6-9 do, and below it what K leads to: cwnd and the window that CUBIC aims at.
var cubicFigure = figure{
	doc: "CUBIC's K over time (P5), with cwnd, target and Wmax",
	measures: []tcp.Field{
		tcp.CubicKMs, tcp.CwndPackets, tcp.CubicTargetPackets, tcp.CubicWmaxPackets, tcp.CubicRenoPackets,
	},
	heightCm: 13,
	panels: func(f *FlowSeries, _ Options) []*panel {
		k := &axis{label: "K", quantity: millisec}
		window := &axis{label: "window", quantity: packets}
		p := []*panel{
			{
				left:   k,
				lines:  []line{{label: "K", curve: f.curve(tcp.CubicKMs), axis: k, stroke: stroke{blue, 1.3, solid}}},
				weight: 0.8, without: f.withoutStateOf("CUBIC"),
			},
			{
				left: window,
				lines: []line{
					{label: "Reno's window", curve: f.curve(tcp.CubicRenoPackets), axis: window, stroke: stroke{green, 1, dotted}, limit: true},
					{label: "Wmax", curve: f.curve(tcp.CubicWmaxPackets), axis: window, stroke: stroke{vermillion, 1.1, dashDot}},
					{label: "cwnd", curve: f.curve(tcp.CwndPackets), axis: window, stroke: stroke{blue, 1.3, solid}},
					{label: "target", curve: f.curve(tcp.CubicTargetPackets), axis: window, stroke: stroke{orange, 1, dashed}, limit: true},
				},
				without: "no congestion window was recorded here",
			},
		}
		return p
	},
}

// withoutStateOf explains why the private state of a congestion control is missing.
func (fs *FlowSeries) withoutStateOf(name string) string {
	if cc := fs.congestionControl(); cc != "" {
		return fmt.Sprintf("no %s state here: the flow's congestion control is %s", name, cc)
	}
	return fmt.Sprintf("no %s state was recorded here", name)
}
