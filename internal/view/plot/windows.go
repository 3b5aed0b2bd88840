package plot

import (
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

var windowsFigure = definition{
	doc:      "cwnd, bytes in flight and the windows that both ends grant",
	fields:   []tcp.Field{cwndBytes, ssthreshBytes, tcp.InFlightBytes, tcp.SendWindowBytes, tcp.ReceiveWindowBytes},
	heightCm: 10,
	together: []quantity{inFlightOfFlows},
	panels:   func(v *view) []figure.Panel { return []figure.Panel{windowsPanel(v)} },
}

func windowsPanel(v *view) figure.Panel {
	return figure.Panel{
		Left: figure.Axis{Label: "window", Unit: units.Sizes},
		Series: []figure.Series{
			v.line("in flight", tcp.InFlightBytes, solid(figure.Sky, 0.8)),
			v.line("cwnd x MSS", cwndBytes, solid(figure.Blue, 1.3)),
			limit(v.line("ssthresh x MSS", ssthreshBytes, dashed(figure.Orange, 1))),
			limit(v.line("send window (peer's)", tcp.SendWindowBytes, dashDot(figure.Vermillion, 1))),
			limit(v.line("receive window (own)", tcp.ReceiveWindowBytes, dotted(figure.Green, 1))),
		},
		Empty: "no window was recorded here",
	}
}
