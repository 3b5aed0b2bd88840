package plot

import (
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

// sequenceFigure is the time-sequence graph that tcptrace made common: the stream that was sent,
// how much of it is acknowledged, and how far the window reaches.
var sequenceFigure = definition{
	doc: "time-sequence: sent, acknowledged, window edge, retransmissions by cause, SACK blocks",
	fields: []tcp.Field{
		tcp.SentBytes, tcp.AckedBytes, sendEdgeBytes, tcp.ReceivedBytes, tcp.ReadBytes, receiveEdgeBytes,
	},
	segments: true,
	heightCm: 12,
	panels:   func(v *view) []figure.Panel { return []figure.Panel{sequencePanel(v)} },
}

var causeMarks = [tcp.CauseOther + 1]struct {
	name  string
	style figure.Style
}{
	tcp.CauseNone:        {"retransmitted", marker(figure.Dim, figure.Disc, 2)},
	tcp.CauseFast:        {"fast retransmit", marker(figure.Vermillion, figure.FilledTriangle, 2.4)},
	tcp.CauseRTO:         {"RTO", marker(figure.Text, figure.Disc, 2.4)},
	tcp.CauseRTORecovery: {"after RTO", marker(figure.Text, figure.Cross, 2.4)},
	tcp.CauseTLP:         {"tail-loss probe", marker(figure.Orange, figure.Diamond, 2.4)},
	tcp.CauseReordering:  {"RACK timer", marker(figure.Green, figure.FilledSquare, 2.4)},
	tcp.CauseSYN:         {"SYN again", marker(figure.Blue, figure.FilledSquare, 2.4)},
	tcp.CauseOther:       {"other retransmit", marker(figure.Dim, figure.Disc, 2)},
}

func sequencePanel(v *view) figure.Panel {
	p := figure.Panel{
		Left:  figure.Axis{Label: "stream offset", Unit: units.Sizes, Floating: true},
		Empty: "no stream was recorded here",
	}
	if v.growth(tcp.ReceivedBytes) > v.growth(tcp.AckedBytes) {
		p.Series = []figure.Series{
			limit(v.line("receive window edge", receiveEdgeBytes, dashDot(figure.Orange, 0.9))),
			v.line("received", tcp.ReceivedBytes, solid(figure.Blue, 1.2)),
			v.line("read", tcp.ReadBytes, dashed(figure.Green, 1.1)),
		}
		return p
	}
	p.Series = []figure.Series{
		limit(v.line("window edge", sendEdgeBytes, dashDot(figure.Orange, 0.9))),
		v.line("sent", tcp.SentBytes, solid(figure.Blue, 1.1)),
		v.line("acknowledged", tcp.AckedBytes, dashed(figure.Green, 1.1)),
	}
	p.Marks = []figure.Marks{
		{Name: "SACK block", Style: solid(figure.Purple, 1), Spans: true, Under: true, Data: v.marksOf(markSack)},
		{
			Name: "DSACK block", Style: marker(figure.Purple, figure.Cross, 2), Spans: true, Under: true,
			Data: v.marksOf(markDsack),
		},
	}
	for cause, c := range causeMarks {
		p.Marks = append(p.Marks, figure.Marks{
			Name: c.name, Style: c.style, Spans: true, Data: v.marksOf(markRetransmit + markClass(cause)),
		})
	}
	return p
}
