package report

import "airtide/internal/tcp"

var windowsFigure = figure{
	doc:      "cwnd, bytes in flight and the windows that both ends grant",
	measures: []tcp.Field{cwndBytes, ssthreshBytes, tcp.InFlightBytes, tcp.SendWindowBytes, tcp.ReceiveWindowBytes},
	heightCm: 10,
	panels: func(f *FlowSeries, _ Options) []*panel {
		window := &axis{label: "window", quantity: octets}
		return []*panel{{
			left: window,
			lines: []line{
				{label: "in flight", curve: f.curve(tcp.InFlightBytes), axis: window, stroke: stroke{sky, 0.8, solid}},
				{label: "cwnd x MSS", curve: f.curve(cwndBytes), axis: window, stroke: stroke{blue, 1.3, solid}},
				{label: "ssthresh x MSS", curve: f.curve(ssthreshBytes), axis: window, stroke: stroke{orange, 1, dashed}, limit: true},
				{label: "send window (peer's)", curve: f.curve(tcp.SendWindowBytes), axis: window, stroke: stroke{vermillion, 1, dashDot}, limit: true},
				{label: "receive window (own)", curve: f.curve(tcp.ReceiveWindowBytes), axis: window, stroke: stroke{green, 1, dotted}, limit: true},
			},
			without: "no window was recorded here",
		}}
	},
}
