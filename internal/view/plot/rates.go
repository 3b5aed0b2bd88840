package report

import (
	"time"

	"airtide/internal/tcp"
)

var ratesFigure = figure{
	doc:      "goodput, delivery rate and pacing rate",
	measures: []tcp.Field{tcp.AckedBytes, tcp.ReceivedBytes, tcp.DeliveryRateBps, tcp.PacingRateBps},
	heightCm: 10,
	panels:   func(f *FlowSeries, o Options) []*panel { return []*panel{ratesPanel(f, o)} },
}

func ratesPanel(f *FlowSeries, o Options) *panel {
	rate := &axis{label: "rate", quantity: bitRate}
	sent, received := f.curve(tcp.AckedBytes), f.curve(tcp.ReceivedBytes)
	p := &panel{left: rate, without: "no rate was recorded here"}
	p.lines = append(p.lines,
		line{label: "delivery rate", curve: f.curve(tcp.DeliveryRateBps), axis: rate, stroke: stroke{sky, 0.6, solid}, limit: true},
		line{label: "pacing rate", curve: f.curve(tcp.PacingRateBps), axis: rate, stroke: stroke{orange, 1, dashed}, limit: true})
	// The few bytes of a request or a greeting are no goodput worth a line beside that of the other direction.
	second := stroke{green, 1.4, longer}
	if bytesOf(sent, o) > 0 && bytesOf(sent, o) >= bytesOf(received, o)/1000 {
		p.lines = append(p.lines, line{label: "goodput sent", curve: goodput(sent, f, o), axis: rate, stroke: stroke{blue, 1.4, solid}})
	} else {
		second.dashes = solid // alone it needs no dashes
	}
	if bytesOf(received, o) > 0 && bytesOf(received, o) >= bytesOf(sent, o)/1000 {
		p.lines = append(p.lines, line{label: "goodput received", curve: goodput(received, f, o), axis: rate, stroke: second})
	}
	return p
}

// bytesOf is how much a counter grew.
func bytesOf(c *curve, o Options) int64 {
	lo, hi, _ := c.extremes(o.fromNs, o.toNs)
	return hi - lo
}

// window is the time over which goodput is averaged.
func (o *Options) window() int64 {
	if o.Window > 0 {
		return int64(o.Window)
	}
	return max((o.toNs-o.fromNs)/100, int64(10*time.Millisecond))
}

// goodput is the growth of a counter of bytes over windows, in bit/s; windows are aligned to the origin of the axis. The
// first and the last window of a flow are cut to its life; a last one shorter than half joins the one before it, since
// a few packets over a few microseconds are no rate.
func goodput(counter *curve, f *FlowSeries, o Options) *curve {
	rate := &curve{limit: curveLimit}
	buckets := counter.between(o.fromNs, o.toNs)
	if len(buckets) == 0 {
		return rate
	}
	w := o.window()
	start, end := max(buckets[0].t0, o.fromNs), min(f.LastNs, o.toNs)
	for t := start; t < end; {
		next := o.OriginNs + ((t-o.OriginNs)/w+1)*w
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
