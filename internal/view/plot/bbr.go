package plot

import (
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

var bbrModes = []string{"startup", "drain", "probe_bw", "probe_rtt"}

var bbrFigure = definition{
	doc: "BBR's bandwidth and RTT estimates, mode and pacing gain",
	fields: []tcp.Field{
		tcp.BBRBandwidthBps, tcp.DeliveryRateBps, tcp.PacingRateBps, tcp.RttUs, tcp.SrttUs, tcp.BBRMinRttUs,
		tcp.BBRMode, tcp.BBRPacingGainPct,
	},
	heightCm: 16,
	together: []quantity{bandwidthOfFlows, rttOfFlows},
	panels:   func(v *view) []figure.Panel { return []figure.Panel{bbrRates(v), bbrRTT(v), bbrMode(v)} },
}

func bbrRates(v *view) figure.Panel {
	return figure.Panel{
		Left: figure.Axis{Label: "rate", Unit: units.Rates},
		Series: []figure.Series{
			clip(v.line("delivery rate", tcp.DeliveryRateBps, solid(figure.Sky, 0.6))),
			clip(v.line("pacing rate", tcp.PacingRateBps, dashed(figure.Orange, 0.9))),
			clip(v.line("bandwidth estimate", tcp.BBRBandwidthBps, solid(figure.Blue, 1.3))),
		},
		Rules: v.controlRules(true),
		Empty: "no rate was recorded here",
	}
}

func bbrRTT(v *view) figure.Panel {
	return figure.Panel{
		Left: v.rttAxis(),
		Series: []figure.Series{
			v.line("latest RTT", tcp.RttUs, solid(figure.Sky, 0.6)),
			v.line("BBR's minimum RTT", tcp.BBRMinRttUs, dashed(figure.Vermillion, 1.1)),
		},
		Rules: v.controlRules(false),
		Empty: "no round-trip time was measured here",
	}
}

func bbrMode(v *view) figure.Panel {
	p := figure.Panel{
		Left:  figure.Axis{Label: "mode", Kind: figure.Names, Names: bbrModes},
		Rules: v.controlRules(false),
		Empty: v.withoutStateOf("BBR"),
	}
	if v.hasState(tcp.BBRMode) {
		p.Right = &figure.Axis{Label: "pacing gain", Unit: units.Percents}
		p.Series = []figure.Series{
			v.line("mode", tcp.BBRMode, solid(figure.Dim, 1.4)),
			v.right("pacing gain (right)", tcp.BBRPacingGainPct, solid(figure.Blue, 1)),
		}
	}
	return p
}
