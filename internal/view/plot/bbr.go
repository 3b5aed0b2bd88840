package report

import "airtide/internal/tcp"

var bbrModeLevels = []string{"startup", "drain", "probe_bw", "probe_rtt"}

var bbrFigure = figure{
	doc: "BBR's bandwidth and RTT estimates, mode and pacing gain",
	measures: []tcp.Field{
		tcp.BBRBandwidthBps, tcp.DeliveryRateBps, tcp.PacingRateBps, tcp.RttUs, tcp.BBRMinRttUs,
		tcp.BBRMode, tcp.BBRPacingGainPct,
	},
	heightCm: 16,
	panels: func(f *FlowSeries, o Options) []*panel {
		rate := &axis{label: "rate", quantity: bitRate}
		rtt := &axis{label: "RTT", quantity: microsec, log: o.LogRTT}
		mode := &axis{label: "mode", quantity: unitless, levels: bbrModeLevels}
		gain := &axis{label: "pacing gain", quantity: percent}
		without := f.withoutStateOf("BBR")
		return []*panel{
			{
				left: rate,
				lines: []line{
					{label: "delivery rate", curve: f.curve(tcp.DeliveryRateBps), axis: rate, stroke: stroke{sky, 0.6, solid}},
					{label: "pacing rate", curve: f.curve(tcp.PacingRateBps), axis: rate, stroke: stroke{orange, 0.9, dashed}, limit: true},
					{label: "bandwidth estimate", curve: f.curve(tcp.BBRBandwidthBps), axis: rate, stroke: stroke{blue, 1.3, solid}},
				},
				without: without,
			},
			{
				left: rtt,
				lines: []line{
					{label: "latest RTT", curve: f.curve(tcp.RttUs), axis: rtt, stroke: stroke{sky, 0.6, solid}},
					{label: "BBR's minimum RTT", curve: f.curve(tcp.BBRMinRttUs), axis: rtt, stroke: stroke{vermillion, 1.1, dashed}},
				},
				without: without,
			},
			{
				left: mode, right: gain,
				lines: []line{
					{label: "mode", curve: f.curve(tcp.BBRMode), axis: mode, stroke: stroke{dim, 1.4, solid}},
					{label: "pacing gain (right)", curve: f.curve(tcp.BBRPacingGainPct), axis: gain, stroke: stroke{blue, 1, solid}},
				},
				without: without,
			},
		}
	},
}
