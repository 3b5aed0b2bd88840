package report

import (
	"slices"

	"airtide/internal/tcp"
)

var overviewFigure = figure{
	doc:      "cwnd, rtt, rates and queues on one time axis",
	measures: slices.Concat(cwndFigure.measures, rttFigure.measures, ratesFigure.measures, queuesFigure.measures),
	heightCm: 22,
	panels: func(f *FlowSeries, o Options) []*panel {
		return []*panel{cwndPanel(f), rttPanel(f, o), ratesPanel(f, o), busierQueuePanel(f, o)}
	},
}

// busierQueuePanel shows the queue of the direction in which more was transferred.
func busierQueuePanel(f *FlowSeries, o Options) *panel {
	if bytesOf(f.curve(tcp.ReceivedBytes), o) > bytesOf(f.curve(tcp.AckedBytes), o) {
		return receiveQueuePanel(f)
	}
	p := sendQueuePanel(f)
	p.weight = 1
	return p
}
