package plot

import (
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

var queuesFigure = definition{
	doc: "socket queues of both directions, device queue, buffer limits",
	fields: []tcp.Field{
		tcp.SendQueuedBytes, tcp.UnsentBytes, tcp.UnackedBytes, tcp.DeviceQueueBytes, tcp.SendBufferBytes,
		tcp.ReceiveQueuedBytes, tcp.BacklogBytes, tcp.ReceiveBufferBytes, tcp.AckedBytes, tcp.ReceivedBytes,
	},
	heightCm: 13,
	together: []quantity{queueOfFlows},
	panels:   queuePanels,
}

// oneWay is the part of the bytes below which a direction has no panel.
const oneWay = 1e-3

// queuePanels are the queues of both directions. If the data went one way, the other queue stayed
// empty and is left out, except in a grid, where all cells have the same panels.
func queuePanels(v *view) []figure.Panel {
	sent := float64(v.growth(tcp.AckedBytes))
	received := float64(v.growth(tcp.ReceivedBytes))
	switch {
	case v.o.Grid:
	case received < oneWay*sent:
		return []figure.Panel{sendQueuePanel(v)}
	case sent < oneWay*received:
		return []figure.Panel{receiveQueuePanel(v)}
	}
	return []figure.Panel{sendQueuePanel(v), receiveQueuePanel(v)}
}

func sendQueuePanel(v *view) figure.Panel {
	return figure.Panel{
		Left: figure.Axis{Label: "send queue", Unit: units.Sizes},
		Series: []figure.Series{
			v.line("queued", tcp.SendQueuedBytes, solid(figure.Text, 1.1)),
			v.line("unacknowledged", tcp.UnackedBytes, dashed(figure.Blue, 1)),
			v.line("unsent", tcp.UnsentBytes, dotted(figure.Orange, 1.2)),
			v.line("device queue", tcp.DeviceQueueBytes, solid(figure.Green, 0.7)),
			limit(v.line("send buffer limit", tcp.SendBufferBytes, dashDot(figure.Vermillion, 1))),
		},
		Weight: 1.4,
		Empty:  "no send queue was recorded here",
	}
}

func receiveQueuePanel(v *view) figure.Panel {
	return figure.Panel{
		Left: figure.Axis{Label: "receive queue", Unit: units.Sizes},
		Series: []figure.Series{
			v.line("queued", tcp.ReceiveQueuedBytes, solid(figure.Text, 1.1)),
			v.line("backlog", tcp.BacklogBytes, dashed(figure.Purple, 1)),
			limit(v.line("receive buffer limit", tcp.ReceiveBufferBytes, dashDot(figure.Vermillion, 1))),
		},
		Empty: "no receive queue was recorded here",
	}
}
