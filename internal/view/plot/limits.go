package plot

import (
	"slices"

	"airtide/internal/diagnose"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

var limitsFigure = definition{
	doc:      "limit of the rate over time, with cwnd and RTT below",
	fields:   []tcp.Field{tcp.CwndPackets, tcp.InFlightPackets, tcp.RttUs, tcp.SrttUs, tcp.MinRttUs, tcp.ReceiverRttUs},
	limits:   true,
	heightCm: 16,
	together: []quantity{cwndOfFlows, rttOfFlows},
	panels: func(v *view) []figure.Panel {
		return []figure.Panel{limitsPanel(v), flightPanel(v), rttPanel(v)}
	},
}

// limitsPanel has a bar for each phase, in a row for each limit. The row of a limit is that of its
// first phase, and certain verdicts are darker than likely ones.
func limitsPanel(v *view) figure.Panel {
	p := figure.Panel{
		Left:   figure.Axis{Label: "limit", Kind: figure.Names},
		Empty:  "no limit was found here",
		Weight: 0.6,
	}
	phases, _ := v.series.diagnosis.Connection(v.Flow.ID)
	for i := range phases.Phases {
		phase := &phases.Phases[i]
		from := max(phase.StartNs, v.from)
		to := min(phase.EndNs, v.to)
		if from >= to {
			continue
		}
		name := phase.Limit.String()
		row := slices.Index(p.Left.Names, name)
		if row < 0 {
			row = len(p.Left.Names)
			p.Left.Names = append(p.Left.Names, name)
		}
		ink := figure.Blue
		switch phase.Certainty {
		case diagnose.Likely:
			ink = figure.Sky
		case diagnose.Guess:
			ink = figure.Dim
		}
		p.Series = append(p.Series, figure.Series{
			Kind: figure.Step, Style: solid(ink, barWidth),
			Data: []figure.Sample{figure.Point(v.x(from), float64(row)), figure.Gap(v.x(to))},
		})
	}
	nameCertainties(&p)
	return p
}

// barWidth is the height of the bar of a phase in points.
const barWidth = 8

// nameCertainties gives the first bar of each certainty an entry in the legend.
func nameCertainties(p *figure.Panel) {
	names := map[figure.Ink]string{figure.Blue: "certain", figure.Sky: "likely", figure.Dim: "unknown"}
	for i := range p.Series {
		ink := p.Series[i].Style.Ink
		p.Series[i].Name = names[ink]
		delete(names, ink)
	}
}

func flightPanel(v *view) figure.Panel {
	return figure.Panel{
		Left: figure.Axis{Label: "window", Unit: units.Packets},
		Series: []figure.Series{
			v.line("in flight", tcp.InFlightPackets, solid(figure.Sky, 0.8)),
			v.line("cwnd", tcp.CwndPackets, solid(figure.Blue, 1.3)),
		},
		Empty: "no congestion window was recorded here",
	}
}
