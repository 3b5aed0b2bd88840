package plot

import (
	"slices"

	"airtide/internal/view/figure"
)

var overviewFigure = definition{
	doc:      "cwnd, rtt, rates and queues on one time axis",
	fields:   slices.Concat(cwndFigure.fields, rttFigure.fields, ratesFigure.fields, queuesFigure.fields),
	heightCm: 22,
	together: []quantity{cwndOfFlows, rttOfFlows, goodputOfFlows, queueOfFlows},
	note:     (*view).goodputNote,
	panels: func(v *view) []figure.Panel {
		return []figure.Panel{cwndPanel(v), rttPanel(v), ratesPanel(v), busierQueuePanel(v)}
	},
}

// busierQueuePanel shows the queue of the direction with more bytes.
func busierQueuePanel(v *view) figure.Panel {
	if v.receives() {
		return receiveQueuePanel(v)
	}
	p := sendQueuePanel(v)
	p.Weight = 1
	return p
}
