package plot

import (
	"time"

	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

var ratesFigure = definition{
	doc:      "goodput, delivery rate and pacing rate",
	fields:   []tcp.Field{tcp.AckedBytes, tcp.ReceivedBytes, tcp.DeliveryRateBps, tcp.PacingRateBps},
	heightCm: 10,
	together: []quantity{goodputOfFlows},
	panels:   func(v *view) []figure.Panel { return []figure.Panel{ratesPanel(v)} },
	note:     (*view).goodputNote,
}

func ratesPanel(v *view) figure.Panel {
	p := figure.Panel{
		Left: figure.Axis{Label: "rate", Unit: units.Rates},
		Series: []figure.Series{
			limit(v.line("delivery rate", tcp.DeliveryRateBps, solid(figure.Sky, 0.6))),
			limit(v.line("pacing rate", tcp.PacingRateBps, dashed(figure.Orange, 1))),
		},
		Empty: "no rate was recorded here",
	}
	// The few bytes of a request or a greeting are no goodput worth a line beside the other
	// direction's.
	sent := v.growth(tcp.AckedBytes)
	received := v.growth(tcp.ReceivedBytes)
	second := solid(figure.Green, 1.4) // alone it needs no dashes
	if sent > 0 && sent >= received/1000 {
		second = longDash(figure.Green, 1.4)
		p.Series = append(p.Series, v.draw("goodput sent", v.goodput(tcp.AckedBytes), solid(figure.Blue, 1.4)))
	}
	if received > 0 && received >= sent/1000 {
		p.Series = append(p.Series, v.draw("goodput received", v.goodput(tcp.ReceivedBytes), second))
	}
	return p
}

// catchUp is the goodput, as a factor of the delivery rate at the same time, that is explained.
const catchUp = 1.2

// goodputNote explains goodput above the delivery rate. After a recovery, one cumulative
// acknowledgement covers all data that arrived behind the loss.
func (v *view) goodputNote() string {
	rate := v.curve(tcp.DeliveryRateBps)
	for _, b := range v.goodput(tcp.AckedBytes).between(v.from, v.to) {
		end := b.t0 + v.window()
		_, delivered, ok := rate.extremes(b.t0, end)
		if !ok || float64(b.max) <= catchUp*float64(delivered) {
			continue
		}
		losses := v.marks[markCode+markClass(tcp.CodeDupAck)].count(v.from, end) +
			v.marks[markCode+markClass(tcp.CodeTimeout)].count(v.from, end)
		if losses > 0 {
			return "goodput above the delivery rate: an ACK after recovery covers all data behind the loss"
		}
		return "goodput above the delivery rate: ACKs came in bursts"
	}
	return ""
}

// window is the time in nanoseconds over which goodput is averaged.
func (v *view) window() int64 {
	if v.o.Window > 0 {
		return int64(v.o.Window)
	}
	return max((v.to-v.from)/100, int64(10*time.Millisecond))
}

// goodput is the growth of a counter of bytes over windows, in bit/s; windows are aligned to the
// origin of the axis. The first and the last window of a flow are cut to its life. A last one
// shorter than half joins the one before it, since a few packets over a few microseconds are no
// rate.
func (v *view) goodput(f tcp.Field) *curve {
	rate := &curve{limit: curveLimit}
	counter := v.curve(f)
	buckets := counter.between(v.from, v.to)
	if len(buckets) == 0 {
		return rate
	}
	w := v.window()
	start := max(buckets[0].t0, v.from)
	end := min(v.LastNs, v.to)
	for t := start; t < end; {
		next := v.origin + ((t-v.origin)/w+1)*w
		if end-next < w/2 {
			next = end
		}
		before, _ := counter.at(t)
		after, _ := counter.at(next)
		rate.add(t, int64((after-before)*8e9/float64(next-t)))
		t = next
	}
	return rate
}
