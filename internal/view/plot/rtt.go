package report

import "airtide/internal/tcp"

var rttFigure = figure{
	doc:      "round-trip time: latest, smoothed and minimum",
	measures: []tcp.Field{tcp.RttUs, tcp.SrttUs, tcp.MinRttUs, tcp.ReceiverRttUs},
	heightCm: 10,
	panels:   func(f *FlowSeries, o Options) []*panel { return []*panel{rttPanel(f, o)} },
}

func rttPanel(f *FlowSeries, o Options) *panel {
	rtt := &axis{label: "RTT", quantity: microsec, log: o.LogRTT}
	return &panel{
		left: rtt,
		lines: []line{
			{label: "latest RTT", curve: f.curve(tcp.RttUs), axis: rtt, stroke: stroke{sky, 0.6, solid}},
			{label: "receiver's RTT estimate", curve: f.curve(tcp.ReceiverRttUs), axis: rtt, stroke: stroke{purple, 0.9, dotted}},
			{label: "smoothed RTT (srtt)", curve: f.curve(tcp.SrttUs), axis: rtt, stroke: stroke{blue, 1.3, solid}},
			{label: "minimum RTT", curve: f.curve(tcp.MinRttUs), axis: rtt, stroke: stroke{vermillion, 1.1, dashed}},
		},
		without: "no round-trip time was measured here",
	}
}
