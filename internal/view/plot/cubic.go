package plot

import (
	"fmt"

	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

// cubicFigure shows K as Kozu et al. 2015, figures 6 to 9, and below it cwnd and the window that
// CUBIC aims at.
var cubicFigure = definition{
	doc: "CUBIC's K over time, with cwnd, target and Wmax",
	fields: []tcp.Field{
		tcp.CubicKMs, tcp.CwndPackets, tcp.CubicTargetPackets, tcp.CubicWmaxPackets, tcp.CubicRenoPackets,
	},
	heightCm: 13,
	together: []quantity{kOfFlows, cwndOfFlows},
	panels:   func(v *view) []figure.Panel { return []figure.Panel{cubicK(v), cubicWindow(v)} },
}

func cubicK(v *view) figure.Panel {
	p := figure.Panel{
		Left: figure.Axis{Label: "K", Unit: units.Milliseconds}, Weight: 0.8,
		Rules: v.controlRules(true), Empty: v.withoutStateOf("CUBIC"),
	}
	if v.hasState(tcp.CubicKMs) {
		p.Series = []figure.Series{v.line("K", tcp.CubicKMs, solid(figure.Blue, 1.3))}
	}
	return p
}

func cubicWindow(v *view) figure.Panel {
	return figure.Panel{
		Left: figure.Axis{Label: "window", Unit: units.Packets},
		Series: []figure.Series{
			limit(v.line("Reno's window", tcp.CubicRenoPackets, dotted(figure.Green, 1))),
			v.line("Wmax", tcp.CubicWmaxPackets, dashDot(figure.Vermillion, 1.1)),
			v.line("cwnd", tcp.CwndPackets, solid(figure.Blue, 1.3)),
			limit(v.line("target", tcp.CubicTargetPackets, dashed(figure.Orange, 1))),
		},
		Rules: v.controlRules(false),
		Empty: "no congestion window was recorded here",
	}
}

// privateStates are the figures of one congestion control, with a field of its private state.
var privateStates = map[Kind]struct {
	name  string
	field tcp.Field
}{
	Cubic: {"CUBIC", tcp.CubicKMs},
	BBR:   {"BBR", tcp.BBRMode},
}

// Lacking explains for each flow why a figure has no private state of its congestion control, or no
// radio. Other figures lack nothing.
func Lacking(k Kind, flows []*FlowSeries, o Options) (all []string) {
	if k == Radio {
		return lackingRadio(flows)
	}
	private, known := privateStates[k]
	if !known {
		return nil
	}
	for _, fs := range flows {
		v, err := viewOf([]*FlowSeries{fs}, o)
		v.FlowSeries = fs
		if err == nil && !v.hasState(private.field) {
			all = append(all, fmt.Sprintf("flow %d: %s", fs.Flow.ID, fs.withoutStateOf(private.name)))
		}
	}
	return all
}

// withoutStateOf explains why the private state of a congestion control is missing.
func (fs *FlowSeries) withoutStateOf(name string) string {
	if cc := fs.congestionControl(); cc != "" {
		return fmt.Sprintf("no %s state here: the flow's congestion control is %s", name, cc)
	}
	return fmt.Sprintf("no %s state was recorded here", name)
}
