package plot

import (
	"fmt"
	"math"

	"airtide/internal/diagnose"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

var radioFigure = definition{
	doc: "PHY rates and retries of the radio that carried the flow, with goodput and RTT",
	fields: []tcp.Field{
		tcp.AckedBytes, tcp.ReceivedBytes, tcp.RttUs, tcp.SrttUs, tcp.MinRttUs, tcp.ReceiverRttUs,
	},
	limits:   true,
	heightCm: 16,
	together: []quantity{goodputOfFlows, rttOfFlows},
	panels: func(v *view) []figure.Panel {
		points, away := v.series.diagnosis.RadioOf(v.Flow.ID)
		return []figure.Panel{phyPanel(v, points, away), retriesPanel(v, points), rttPanel(v)}
	},
}

// noRadio is the text of a panel without data of the radio.
const noRadio = "no radio was recorded here (--with radio)"

// lackingRadio names the flows that no recorded radio carried.
func lackingRadio(flows []*FlowSeries) (all []string) {
	for _, fs := range flows {
		if points, _ := fs.series.diagnosis.RadioOf(fs.Flow.ID); len(points) == 0 {
			all = append(all, fmt.Sprintf("flow %d: %s", fs.Flow.ID, noRadio))
		}
	}
	return all
}

// phyPanel has the PHY rates, the goodput, and bars for times away from the channel.
func phyPanel(v *view, points []diagnose.RadioPoint, away []diagnose.RadioAway) figure.Panel {
	p := figure.Panel{Left: figure.Axis{Label: "rate", Unit: units.Rates}, Empty: noRadio}
	if len(points) == 0 {
		return p
	}
	sent := v.growth(tcp.AckedBytes)
	received := v.growth(tcp.ReceivedBytes)
	f := tcp.AckedBytes
	rate := func(p *diagnose.RadioPoint) float64 { return p.TxBps }
	if received > sent {
		f = tcp.ReceivedBytes
		rate = func(p *diagnose.RadioPoint) float64 { return p.RxBps }
	}
	p.Series = []figure.Series{
		v.radioLine("PHY rate", points, rate, solid(figure.Purple, 1.3)),
		v.draw("goodput", v.goodput(f), solid(figure.Blue, 1.4)),
	}
	if bars := v.awayBars(away); len(bars) > 0 {
		p.Series = append(p.Series, figure.Series{
			Name: "scan, or no access point", Kind: figure.Step, Style: solid(figure.Vermillion, 3), Data: bars,
		})
	}
	return p
}

// awayBars are bars at the foot of a panel.
func (v *view) awayBars(away []diagnose.RadioAway) (bars []figure.Sample) {
	for _, a := range away {
		from := max(a.FromNs, v.from)
		to := min(a.ToNs, v.to)
		if from < to {
			bars = append(bars, figure.Point(v.x(from), 0), figure.Gap(v.x(to)))
		}
	}
	return bars
}

// retriesPanel has the retries and the packets given up, per 100 packets sent.
func retriesPanel(v *view, points []diagnose.RadioPoint) figure.Panel {
	p := figure.Panel{Left: figure.Axis{Label: "of packets sent", Unit: units.Percents}, Empty: noRadio, Weight: 0.6}
	if len(points) == 0 {
		return p
	}
	part := func(n func(*diagnose.RadioPoint) int64) func(*diagnose.RadioPoint) float64 {
		return func(p *diagnose.RadioPoint) float64 {
			if p.Packets == 0 {
				return math.NaN()
			}
			return 100 * float64(n(p)) / float64(p.Packets)
		}
	}
	retries := func(p *diagnose.RadioPoint) int64 { return p.Retries }
	failed := func(p *diagnose.RadioPoint) int64 { return p.Failed }
	p.Series = []figure.Series{
		v.radioLine("retries", points, part(retries), solid(figure.Orange, 1)),
		v.radioLine("given up", points, part(failed), solid(figure.Vermillion, 1.2)),
	}
	return p
}

// radioLine draws a value of the radio. Unknown values and times without a record are gaps.
func (v *view) radioLine(
	name string, points []diagnose.RadioPoint, value func(*diagnose.RadioPoint) float64, style figure.Style,
) figure.Series {
	s := figure.Series{Name: name, Kind: figure.Step, Style: style}
	last := int64(0)
	for i := range points {
		p := &points[i]
		if p.ToNs <= v.from || p.FromNs >= v.to {
			continue
		}
		if last != 0 && p.FromNs > last {
			s.Data = append(s.Data, figure.Gap(v.x(last)))
		}
		at := v.x(max(p.FromNs, v.from))
		if y := value(p); math.IsNaN(y) {
			s.Data = append(s.Data, figure.Gap(at))
		} else {
			s.Data = append(s.Data, figure.Point(at, y))
		}
		last = min(p.ToNs, v.to)
	}
	if last != 0 {
		s.Data = append(s.Data, figure.Gap(v.x(last)))
	}
	return s
}
