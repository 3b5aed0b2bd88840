package report

import "airtide/internal/tcp"

// cwndFigure is the figure of P4: congestion state and error codes on the left, cwnd on the right. The codes stand at
// the state of the same number, as in the paper.
var cwndFigure = figure{
	doc:      "congestion state and error codes (left), cwnd and ssthresh (right): the figure of P4",
	measures: []tcp.Field{tcp.CwndPackets, tcp.SsthreshPackets, tcp.CAStateField},
	heightCm: 10,
	panels:   func(f *FlowSeries, _ Options) []*panel { return []*panel{cwndPanel(f)} },
}

var caStateLevels = []string{"0 open", "1 disorder", "2 CWR", "3 recovery", "4 loss"}

var codeGlyphs = [tcp.NumErrorCodes]struct {
	label string
	glyph glyph
}{
	tcp.CodeReordering:      {"1 reordering", glyph{green, diamond{}, 2.6}},
	tcp.CodeLocalCongestion: {"2 local congestion", glyph{purple, box, 2.6}},
	tcp.CodeDupAck:          {"3 duplicate ACK, SACK", glyph{vermillion, cross{}, 2.8}},
	tcp.CodeTimeout:         {"4 timeout", glyph{black, disc, 2.8}},
}

func cwndPanel(f *FlowSeries) *panel {
	state := &axis{label: "ca_state, error code", quantity: unitless, levels: caStateLevels}
	window := &axis{label: "cwnd", quantity: packets}
	p := &panel{
		left: state, right: window,
		lines: []line{
			{label: "ca_state", curve: f.caState(), axis: state, stroke: stroke{dim, 0.6, solid}, shade: true},
			{label: "ssthresh (right)", curve: f.curve(tcp.SsthreshPackets), axis: window, stroke: stroke{orange, 1, dashed}, limit: true},
			{label: "cwnd (right)", curve: f.curve(tcp.CwndPackets), axis: window, stroke: stroke{blue, 1.2, solid}},
		},
		without: "no congestion window and no error was recorded here",
	}
	for code := tcp.CodeReordering; code < tcp.NumErrorCodes; code++ {
		p.marks = append(p.marks, markLine{
			label: codeGlyphs[code].label, marks: &f.marks[markCode+markClass(code)], axis: state,
			glyph: codeGlyphs[code].glyph, level: float64(code),
		})
	}
	return p
}

// caState is the congestion state over time: from its own events when there are any, since a state may come and go
// between two samples.
func (fs *FlowSeries) caState() *curve {
	if !fs.caChanges.empty() {
		return &fs.caChanges
	}
	return fs.curve(tcp.CAStateField)
}
