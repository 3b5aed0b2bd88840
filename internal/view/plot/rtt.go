package plot

import (
	"airtide/internal/tcp"
	"airtide/internal/view/figure"
)

var rttFigure = definition{
	doc:      "round-trip time: latest, smoothed and minimum",
	fields:   []tcp.Field{tcp.RttUs, tcp.SrttUs, tcp.MinRttUs, tcp.ReceiverRttUs},
	heightCm: 10,
	together: []quantity{rttOfFlows},
	panels:   func(v *view) []figure.Panel { return []figure.Panel{rttPanel(v)} },
}

func rttPanel(v *view) figure.Panel {
	return figure.Panel{
		Left: v.rttAxis(),
		Series: []figure.Series{
			v.line("latest RTT", tcp.RttUs, solid(figure.Sky, 0.6)),
			v.line("receiver's RTT estimate", tcp.ReceiverRttUs, dotted(figure.Purple, 0.9)),
			v.line("smoothed RTT (srtt)", tcp.SrttUs, solid(figure.Blue, 1.3)),
			v.line("minimum RTT", tcp.MinRttUs, dashed(figure.Vermillion, 1.1)),
		},
		Empty: "no round-trip time was measured here",
	}
}
