package plot

import (
	"slices"

	"airtide/internal/tcp"
	"airtide/internal/view/figure"
)

var overviewFigure = definition{
	doc:      "cwnd, rtt, rates and queues on one time axis",
	fields:   slices.Concat(cwndFigure.fields, rttFigure.fields, ratesFigure.fields, queuesFigure.fields),
	heightCm: 22,
	panels: func(v *view) []figure.Panel {
		return []figure.Panel{cwndPanel(v), rttPanel(v), ratesPanel(v), busierQueuePanel(v)}
	},
}

// busierQueuePanel shows the queue of the direction with more bytes.
func busierQueuePanel(v *view) figure.Panel {
	if v.growth(tcp.ReceivedBytes) > v.growth(tcp.AckedBytes) {
		return receiveQueuePanel(v)
	}
	p := sendQueuePanel(v)
	p.Weight = 1
	return p
}
