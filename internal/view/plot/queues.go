package report

import "airtide/internal/tcp"

var queuesFigure = figure{
	doc: "socket queues of both directions, device queue, buffer limits",
	measures: []tcp.Field{
		tcp.SendQueuedBytes, tcp.UnsentBytes, tcp.UnackedBytes, tcp.DeviceQueueBytes, tcp.SendBufferBytes,
		tcp.ReceiveQueuedBytes, tcp.BacklogBytes, tcp.ReceiveBufferBytes,
	},
	heightCm: 13,
	panels: func(f *FlowSeries, _ Options) []*panel {
		return []*panel{sendQueuePanel(f), receiveQueuePanel(f)}
	},
}

func sendQueuePanel(f *FlowSeries) *panel {
	queue := &axis{label: "send queue", quantity: octets}
	return &panel{
		left: queue,
		lines: []line{
			{label: "queued", curve: f.curve(tcp.SendQueuedBytes), axis: queue, stroke: stroke{black, 1.1, solid}},
			{label: "unacknowledged", curve: f.curve(tcp.UnackedBytes), axis: queue, stroke: stroke{blue, 1, dashed}},
			{label: "unsent", curve: f.curve(tcp.UnsentBytes), axis: queue, stroke: stroke{orange, 1.2, dotted}},
			{label: "device queue", curve: f.curve(tcp.DeviceQueueBytes), axis: queue, stroke: stroke{green, 0.7, solid}},
			{label: "send buffer limit", curve: f.curve(tcp.SendBufferBytes), axis: queue, stroke: stroke{vermillion, 1, dashDot}, limit: true},
		},
		weight:  1.4,
		without: "no send queue was recorded here",
	}
}

func receiveQueuePanel(f *FlowSeries) *panel {
	queue := &axis{label: "receive queue", quantity: octets}
	return &panel{
		left: queue,
		lines: []line{
			{label: "queued", curve: f.curve(tcp.ReceiveQueuedBytes), axis: queue, stroke: stroke{black, 1.1, solid}},
			{label: "backlog", curve: f.curve(tcp.BacklogBytes), axis: queue, stroke: stroke{purple, 1, dashed}},
			{label: "receive buffer limit", curve: f.curve(tcp.ReceiveBufferBytes), axis: queue, stroke: stroke{vermillion, 1, dashDot}, limit: true},
		},
		without: "no receive queue was recorded here",
	}
}
