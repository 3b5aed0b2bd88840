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
		tcp.UnackedBytes, tcp.SendWindowBytes, tcp.ReceiveQueuedBytes, tcp.ReceiveWindowBytes,
	},
	segments: true,
	heightCm: 12,
	together: []quantity{streamOfFlows},
	panels:   sequencePanels,
}

// longStream is the number of windows in a stream from which its lines would be one, so that a
// second panel shows how far they are ahead of the acknowledged or read bytes.
const longStream = 20

func sequencePanels(v *view) []figure.Panel {
	stream := sequencePanel(v)
	if v.receives() {
		if v.growth(tcp.ReceivedBytes) <= longStream*v.greatest(tcp.ReceiveWindowBytes) {
			return []figure.Panel{stream}
		}
		return []figure.Panel{stream, {
			Left: figure.Axis{Label: "not read", Unit: units.Sizes}, Weight: 0.7,
			Series: []figure.Series{
				limit(v.line("receive window", tcp.ReceiveWindowBytes, dashDot(figure.Orange, 0.9))),
				v.line("received", tcp.ReceiveQueuedBytes, solid(figure.Blue, 1)),
			},
			Empty: "no receive queue was recorded here",
		}}
	}
	if v.growth(tcp.AckedBytes) <= longStream*v.greatest(tcp.SendWindowBytes) {
		return []figure.Panel{stream}
	}
	return []figure.Panel{stream, {
		Left: figure.Axis{Label: "ahead of ACK", Unit: units.Sizes}, Weight: 0.7,
		Series: []figure.Series{
			limit(v.line("send window", tcp.SendWindowBytes, dashDot(figure.Orange, 0.9))),
			v.line("sent, not acknowledged", tcp.UnackedBytes, solid(figure.Blue, 1)),
		},
		Empty: "no send queue was recorded here",
	}}
}

var causeStyles = [tcp.CauseOther + 1]figure.Style{
	tcp.CauseNone:        marker(figure.Dim, figure.Disc, 2),
	tcp.CauseFast:        marker(figure.Vermillion, figure.FilledTriangle, 2.4),
	tcp.CauseRTO:         marker(figure.Text, figure.Disc, 2.4),
	tcp.CauseRTORecovery: marker(figure.Text, figure.Cross, 2.4),
	tcp.CauseTLP:         marker(figure.Orange, figure.Diamond, 2.4),
	tcp.CauseRACKTimer:   marker(figure.Green, figure.FilledSquare, 2.4),
	tcp.CauseSYN:         marker(figure.Blue, figure.FilledSquare, 2.4),
	tcp.CauseOther:       marker(figure.Dim, figure.Disc, 2),
}

func sequencePanel(v *view) figure.Panel {
	p := figure.Panel{
		Left:  figure.Axis{Label: "stream offset", Unit: units.Sizes, Floating: true},
		Empty: "no stream was recorded here",
	}
	if v.receives() {
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
	for cause, style := range causeStyles {
		p.Marks = append(p.Marks, figure.Marks{
			Name: "sent again: " + tcp.Cause(cause).Title(), Style: style, Spans: true,
			Data: v.marksOf(markRetransmit + markClass(cause)),
		})
	}
	return p
}
