package control

import (
	"time"

	"airtide/internal/share/flow"
)

// A flow of a terminal whose standalone rate nobody knows has so many packets waiting, and fewer if
// its radio sends each packet by itself. With fewer packets ACKs that wait in the access point's
// queue leave fast radios without data: the total of random cells falls (docs/design/sharing.md).
const (
	queuePackets       = 1024
	queuePacketsSingle = 128
)

// ofQueue bounds the packets that wait of each flow, for a terminal whose standalone rate nobody
// knows. single means that its radio sends each packet by itself.
func (w *windowController) ofQueue(now time.Duration, single bool) (b bounds) {
	packets := queuePackets
	if single {
		packets = queuePacketsSingle
	}
	for _, f := range w.flows.All() {
		queue := float64(packets * f.MSS)
		if f.Send.Active(now) {
			b.addSend(window{f, queueWindow(&f.Send, queue), LeastWindow})
		}
		if f.Receive.Active(now) {
			b.addReceive(window{f, queueWindow(&f.Receive, queue), LeastWindow})
		}
	}
	return b
}

// queueWindow returns the window in bytes with which so many bytes wait besides those on the path,
// whatever rate the medium gives the flow. It is the equilibrium of FAST TCP (Wei et al. 2006).
func queueWindow(d *flow.Direction, queue float64) float64 {
	return d.Rate/8*d.BaseRTT.Seconds() + queue
}
