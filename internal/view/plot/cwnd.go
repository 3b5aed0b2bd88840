package plot

import (
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

// cwndFigure is the figure of Matsuno et al. 2021, figures 10 to 17 and 20 to 27: congestion state
// and error codes on the left, cwnd on the right. As in the paper, a code stands at the state of
// the same number.
var cwndFigure = definition{
	doc:      "congestion state and error codes (left), cwnd and ssthresh (right)",
	fields:   []tcp.Field{tcp.CwndPackets, tcp.SsthreshPackets, tcp.CAStateField},
	heightCm: 10,
	together: []quantity{cwndOfFlows},
	panels:   func(v *view) []figure.Panel { return []figure.Panel{cwndPanel(v)} },
}

var caStates = []string{"0 open", "1 disorder", "2 CWR", "3 recovery", "4 loss"}

var codeMarks = [tcp.NumErrorCodes]struct {
	name  string
	style figure.Style
}{
	tcp.CodeReordering:      {"code 1: reordering", marker(figure.Green, figure.Diamond, 2.6)},
	tcp.CodeLocalCongestion: {"code 2: local congestion", marker(figure.Purple, figure.FilledSquare, 2.6)},
	tcp.CodeDupAck:          {"code 3: duplicate ACK, SACK", marker(figure.Vermillion, figure.Cross, 2.8)},
	tcp.CodeTimeout:         {"code 4: timeout", marker(figure.Text, figure.Disc, 2.8)},
}

func cwndPanel(v *view) figure.Panel {
	state := v.draw("ca_state", v.caState(), solid(figure.Dim, 0.6))
	state.Shade = true
	p := figure.Panel{
		Left:  figure.Axis{Label: "ca_state, error code", Kind: figure.Names, Names: caStates},
		Right: &figure.Axis{Label: "cwnd", Unit: units.Packets},
		Series: []figure.Series{
			state,
			limit(v.right("ssthresh (right)", tcp.SsthreshPackets, dashed(figure.Orange, 1))),
			v.right("cwnd (right)", tcp.CwndPackets, solid(figure.Blue, 1.2)),
		},
		Empty: "no congestion window and no error was recorded here",
	}
	for code := tcp.CodeReordering; code < tcp.NumErrorCodes; code++ {
		p.Marks = append(p.Marks, figure.Marks{
			Name: codeMarks[code].name, Style: codeMarks[code].style, Level: float64(code),
			Data: v.marksOf(markCode + markClass(code)),
		})
	}
	return p
}

// caState is the congestion state over time. Its own events come before the samples, since a state
// may come and go between two of them.
func (fs *FlowSeries) caState() *curve {
	if !fs.caChanges.empty() {
		return &fs.caChanges
	}
	return fs.curve(tcp.CAStateField)
}
