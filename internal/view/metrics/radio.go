package metrics

import (
	"fmt"
	"slices"

	"airtide/internal/sys/metrics"
	"airtide/internal/tcp"
	"airtide/internal/units"
)

// The metrics of the radios, with --with radio.
var (
	radioRate = &metrics.Metric{
		Name: "airtide.radio.rate_bps", Unit: "bit/s", Help: "PHY rate of the last data.",
		Labels: []string{"interface", "netns", "network.io.direction"},
	}
	radioSignal = &metrics.Metric{
		Name: "airtide.radio.signal_dbm", Unit: "dBm", Help: "Signal of the last frame.",
		Labels: []string{"interface", "netns"},
	}
	radioPackets = &metrics.Metric{
		Name: "airtide.radio.packets", Unit: "{packet}",
		Help:   "Packets that were sent, transmissions that were repeated, and packets given up after all retries.",
		Labels: []string{"interface", "netns", "outcome"}, Counter: true,
	}
	radioChannel = &metrics.Metric{
		Name: "airtide.radio.channel", Unit: "s", Help: "Time on the channel, by its state.",
		Labels: []string{"interface", "netns", "state"}, Counter: true,
	}
	radioEvents = &metrics.Metric{
		Name: "airtide.radio.events", Unit: "{event}", Help: "Scans, roaming and other changes of the link.",
		Labels: []string{"interface", "netns", "event"}, Counter: true,
	}
)

const (
	// maxRadios bounds the interfaces that have metrics.
	maxRadios = 64
	// maxStations bounds the stations of an interface. If there are more, all counters begin anew.
	maxStations = 256
)

// outcomes are the counters of a link that make radioPackets.
var outcomes = [...]struct {
	field tcp.RadioField
	label string
}{{tcp.RadioTxPackets, "sent"}, {tcp.RadioTxRetries, "repeated"}, {tcp.RadioTxFailed, "failed"}}

// radio sums up an interface.
type radio struct {
	described tcp.Radio            // the last record of the interface
	stations  map[string]tcp.Radio // last records of the stations
	link      tcp.Radio            // the last of them
	channel   tcp.Radio
	counts    [len(outcomes)]int64
	counted   [len(outcomes)]bool // whether the driver tells it
	// Time on the channel in ms.
	busyMs, idleMs int64
	events         map[tcp.RadioKind]int64
}

func (r *radio) take(record *tcp.Radio) {
	switch record.Kind {
	case tcp.RadioInterface:
		r.described = *record
	case tcp.RadioStation:
		last, known := r.stations[record.Station]
		for i, o := range outcomes {
			r.counted[i] = r.counted[i] || record.Has(o.field)
			if known {
				r.counts[i] += record.Growth(&last, o.field)
			}
		}
		if !known && len(r.stations) >= maxStations {
			clear(r.stations)
		}
		r.stations[record.Station] = *record
		r.link = *record
	case tcp.RadioChannel:
		last := r.channel
		r.channel = *record
		timeMs, busyMs, _ := record.ChannelGrowth(&last)
		r.busyMs += busyMs
		r.idleMs += timeMs - busyMs
	}
	if record.Kind.IsEvent() {
		r.events[record.Kind]++
	}
}

// points returns the points of the interface. Values that its driver does not tell are left out.
func (r *radio) points(id tcp.RadioID) []metrics.Point {
	of := []string{units.Printable(id.Interface), fmt.Sprint(id.NetNS)}
	var list []metrics.Point
	add := func(known bool, m *metrics.Metric, value float64, label ...string) {
		if known {
			list = append(list, metrics.Point{Metric: m, Of: slices.Concat(of, label), Value: value})
		}
	}
	value := func(f tcp.RadioField) float64 { return float64(r.link.Values[f]) }
	linked := r.link.Kind == tcp.RadioStation
	add(linked && r.link.Has(tcp.RadioTxRateBps), radioRate, value(tcp.RadioTxRateBps), "transmit")
	add(linked && r.link.Has(tcp.RadioRxRateBps), radioRate, value(tcp.RadioRxRateBps), "receive")
	add(linked && r.link.Has(tcp.RadioSignalDbm), radioSignal, value(tcp.RadioSignalDbm))
	for i, o := range outcomes {
		add(r.counted[i], radioPackets, float64(r.counts[i]), o.label)
	}
	timed := r.busyMs+r.idleMs > 0
	add(timed, radioChannel, float64(r.busyMs)/1000, "busy")
	add(timed, radioChannel, float64(r.idleMs)/1000, "idle")
	for kind, n := range r.events {
		add(true, radioEvents, float64(n), kind.String())
	}
	return list
}
