package report

import (
	"gonum.org/v1/plot/vg/draw"

	"airtide/internal/tcp"
)

// Shapes of the library that several figures use.
var (
	disc = draw.CircleGlyph{}
	box  = draw.BoxGlyph{}
)

// sequenceFigure is the time-sequence graph that tcptrace made common: the stream that was sent, what of it is
// acknowledged, and how far the window reaches.
var sequenceFigure = figure{
	doc: "time-sequence: sent, acknowledged, window edge, retransmissions by cause, SACK blocks",
	measures: []tcp.Field{
		tcp.SentBytes, tcp.AckedBytes, sendEdgeBytes, tcp.ReceivedBytes, tcp.ReadBytes, receiveEdgeBytes,
	},
	segments: true,
	heightCm: 12,
	panels:   func(f *FlowSeries, o Options) []*panel { return []*panel{sequencePanel(f, o)} },
}

var causeGlyphs = [tcp.CauseOther + 1]struct {
	label string
	glyph glyph
}{
	tcp.CauseNone:        {"retransmitted", glyph{dim, disc, 2}},
	tcp.CauseFast:        {"fast retransmit", glyph{vermillion, draw.PyramidGlyph{}, 2.4}},
	tcp.CauseRTO:         {"RTO", glyph{black, disc, 2.4}},
	tcp.CauseRTORecovery: {"after RTO", glyph{black, cross{}, 2.4}},
	tcp.CauseTLP:         {"tail-loss probe", glyph{orange, diamond{}, 2.4}},
	tcp.CauseReordering:  {"RACK timer", glyph{green, box, 2.4}},
	tcp.CauseSYN:         {"SYN again", glyph{blue, box, 2.4}},
	tcp.CauseOther:       {"other retransmit", glyph{dim, disc, 2}},
}

func sequencePanel(f *FlowSeries, o Options) *panel {
	offset := &axis{label: "stream offset", quantity: octets, floating: true}
	p := &panel{left: offset, without: "no stream was recorded here"}
	if bytesOf(f.curve(tcp.ReceivedBytes), o) > bytesOf(f.curve(tcp.AckedBytes), o) {
		p.lines = []line{
			{label: "receive window edge", curve: f.curve(receiveEdgeBytes), axis: offset, stroke: stroke{orange, 0.9, dashDot}, limit: true},
			{label: "received", curve: f.curve(tcp.ReceivedBytes), axis: offset, stroke: stroke{blue, 1.2, solid}},
			{label: "read", curve: f.curve(tcp.ReadBytes), axis: offset, stroke: stroke{green, 1.1, dashed}},
		}
		return p
	}
	p.lines = []line{
		{label: "window edge", curve: f.curve(sendEdgeBytes), axis: offset, stroke: stroke{orange, 0.9, dashDot}, limit: true},
		{label: "sent", curve: f.curve(tcp.SentBytes), axis: offset, stroke: stroke{blue, 1.1, solid}},
		{label: "acknowledged", curve: f.curve(tcp.AckedBytes), axis: offset, stroke: stroke{green, 1.1, dashed}},
	}
	p.marks = []markLine{
		{label: "SACK block", marks: &f.marks[markSack], axis: offset, glyph: glyph{ink: purple}, spans: true, width: 1, under: true},
		{label: "DSACK block", marks: &f.marks[markDsack], axis: offset, glyph: glyph{purple, cross{}, 2}, spans: true, width: 1, under: true},
	}
	for cause := range causeGlyphs {
		p.marks = append(p.marks, markLine{
			label: causeGlyphs[cause].label, marks: &f.marks[markRetransmit+markClass(cause)], axis: offset,
			glyph: causeGlyphs[cause].glyph, spans: true, width: 1,
		})
	}
	return p
}
