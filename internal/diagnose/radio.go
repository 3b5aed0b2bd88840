package diagnose

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"airtide/internal/tcp"
	"airtide/internal/units"
)

// Radio sums up one interface of the host's radios.
type Radio struct {
	Interface string `json:"interface"`
	SSID      string `json:"ssid"`    // the last one; text from outside
	Station   string `json:"station"` // the last access point
	// Rates are PHY rates of data in bit/s. They are 0 if the driver does not tell them.
	TxRate RadioRate `json:"tx_rate"`
	RxRate RadioRate `json:"rx_rate"`
	// SignalDbm is the mean signal; 0 if it is unknown.
	SignalDbm float64 `json:"signal_dbm"`
	// TxPackets counts packets, TxRetries repeated transmissions, and TxFailed packets given up.
	TxPackets int64 `json:"tx_packets"`
	TxRetries int64 `json:"tx_retries"`
	TxFailed  int64 `json:"tx_failed"`
	// Busy is the share of time in which the channel was busy; below 0 if it is unknown.
	Busy float64 `json:"channel_busy"`

	Scans       int `json:"scans"`
	Roams       int `json:"roams"`
	Disconnects int `json:"disconnects"`
	// Scanning and Disconnected are states at the end.
	Scanning     bool `json:"scanning"`
	Disconnected bool `json:"disconnected"`
}

// RadioRate describes a PHY rate over time, in bit/s.
type RadioRate struct {
	Least    float64 `json:"least_bps"`
	Median   float64 `json:"median_bps"`
	Greatest float64 `json:"greatest_bps"`
}

// String describes the interface in one line.
func (r *Radio) String() string {
	var b strings.Builder
	b.WriteString(units.Printable(r.Interface))
	if r.SSID != "" {
		fmt.Fprintf(&b, " in %s", units.Printable(r.SSID))
	}
	if r.Station != "" {
		fmt.Fprintf(&b, " at %s", units.Printable(r.Station))
	}
	if r.TxRate.Median > 0 {
		fmt.Fprintf(&b, ", sent at %s", r.TxRate.text())
	}
	if r.RxRate.Median > 0 {
		fmt.Fprintf(&b, ", received at %s", r.RxRate.text())
	}
	if r.SignalDbm != 0 {
		fmt.Fprintf(&b, ", signal %.0f dBm", r.SignalDbm)
	}
	fmt.Fprintf(&b, "; %s sent, %s, %d failed", units.Count(r.TxPackets, "packet"), retriesText(r.TxRetries),
		r.TxFailed)
	if r.Busy >= 0 {
		fmt.Fprintf(&b, "; channel busy %s", units.Percent(r.Busy))
	}
	for _, e := range []struct {
		n    int
		noun string
	}{{r.Scans, "scan"}, {r.Roams, "roam"}, {r.Disconnects, "disconnect"}} {
		if e.n > 0 {
			fmt.Fprintf(&b, "; %s", units.Count(e.n, e.noun))
		}
	}
	return b.String()
}

// Brief describes the present state of the interface for a line of 80 columns.
func (r *Radio) Brief() string {
	parts := []string{"radio " + units.Printable(r.Interface)}
	if r.SSID != "" {
		parts[0] += " in " + units.Printable(r.SSID)
	}
	add := func(known bool, text string) {
		if known {
			parts = append(parts, text)
		}
	}
	add(r.Disconnected, "disconnected")
	add(r.Scanning, "scanning")
	add(r.TxRate.Median > 0, "tx "+rate(r.TxRate.Median))
	add(r.RxRate.Median > 0, "rx "+rate(r.RxRate.Median))
	add(r.SignalDbm != 0, fmt.Sprintf("%.0f dBm", r.SignalDbm))
	if r.TxPackets > 0 {
		add(true, units.Percent(float64(r.TxRetries)/float64(r.TxPackets))+" retried")
	}
	add(r.TxFailed > 0, fmt.Sprintf("%d failed", r.TxFailed))
	add(r.Busy >= 0, "busy "+units.Percent(r.Busy))
	return strings.Join(parts, ", ")
}

func retriesText(n int64) string {
	if n == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("%d retries", n)
}

func (r RadioRate) text() string {
	if r.Least == r.Greatest {
		return rate(r.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", rate(r.Median), rate(r.Least), rate(r.Greatest))
}

// link is the history of one interface of the radio.
type link struct {
	id             tcp.RadioID
	ssid, station  string
	addresses      []netip.Addr
	bins           []radioBin
	last           tcp.Radio // the last record of the station; without one its kind is RadioNone
	channel        tcp.Radio // the last record of the channel
	away           []span    // times in which the radio was not at its channel
	scanNs, goneNs int64     // begin of the scan or the disconnection that lasts; 0: none

	scans, roams, partings int
}

// span is a time in which the radio scanned, or had no access point.
type span struct {
	fromNs, toNs int64
	scan         bool
}

// radioBin is the time between two records of a station.
type radioBin struct {
	fromNs, toNs             int64
	txRate, rxRate           float64 // bit/s; 0: unknown
	packets, retries, failed int64
	signalDbm                float64 // 0: unknown
	// Time on the channel, and its parts in which it was busy and in which others sent.
	channelMs, busyMs, othersMs int64
}

const (
	// maxRadioBins is the greatest number of bins of an interface. If there are more, neighbours
	// are merged.
	maxRadioBins = 8192
	// maxLinks bounds the interfaces.
	maxLinks = 64
	// maxSpans bounds the scans and disconnections of an interface.
	maxSpans = 1024
)

// radios holds the interfaces in the order of their first sight.
type radios []*link

// take takes a record.
func (all *radios) take(r *tcp.Radio) {
	at := slices.IndexFunc(*all, func(l *link) bool { return l.id == r.ID() })
	if at < 0 {
		if len(*all) >= maxLinks {
			return
		}
		at = len(*all)
		*all = append(*all, &link{id: r.ID()})
	}
	(*all)[at].take(r)
}

// of returns the interface that has an address in a network namespace, or nil. 0 stands for an
// unknown namespace.
func (all radios) of(netns uint32, address netip.Addr) *link {
	for _, l := range all {
		here := netns == 0 || l.id.NetNS == 0 || netns == l.id.NetNS
		if here && slices.Contains(l.addresses, address.Unmap()) {
			return l
		}
	}
	return nil
}

// list sums up the interfaces that a record of a station, or an event, tells about, over the time
// since a moment.
func (all radios) list(sinceNs int64) []Radio {
	list := []Radio{}
	for _, l := range all {
		if l.station != "" || len(l.bins) > 0 || l.scans+l.roams+l.partings > 0 {
			list = append(list, l.sum(sinceNs))
		}
	}
	return list
}

func (l *link) take(r *tcp.Radio) {
	switch r.Kind {
	case tcp.RadioInterface:
		l.ssid = cmp.Or(r.SSID, l.ssid)
		l.addresses = slices.Clone(r.Addresses)
	case tcp.RadioStation:
		l.takeStation(r)
	case tcp.RadioChannel:
		l.takeChannel(r)
	case tcp.RadioScanStart:
		l.scans++
		l.scanNs = r.TimeNs
	case tcp.RadioScanEnd:
		l.endAway(&l.scanNs, r.TimeNs, true)
	case tcp.RadioDisconnect:
		l.partings++
		l.goneNs = r.TimeNs
	case tcp.RadioConnect:
		l.endAway(&l.goneNs, r.TimeNs, false)
		l.ssid = cmp.Or(r.SSID, l.ssid)
	case tcp.RadioRoam:
		l.roams++
		from := r.TimeNs
		if l.last.Kind == tcp.RadioStation {
			from = l.last.TimeNs // the interface left the old access point at an unknown time since then
		}
		l.endAway(&from, r.TimeNs, false)
		l.ssid = cmp.Or(r.SSID, l.ssid)
	}
}

// endAway ends a time away from the channel.
func (l *link) endAway(sinceNs *int64, toNs int64, scan bool) {
	if *sinceNs == 0 || toNs <= *sinceNs {
		return
	}
	if len(l.away) >= maxSpans {
		l.away = slices.Delete(l.away, 0, maxSpans/2)
	}
	l.away = append(l.away, span{*sinceNs, toNs, scan})
	*sinceNs = 0
}

// takeStation makes a bin of the time since the last record of the same station.
func (l *link) takeStation(r *tcp.Radio) {
	last := l.last
	l.last = *r
	l.station = r.Station
	if last.Kind != tcp.RadioStation || last.Station != r.Station || r.TimeNs <= last.TimeNs {
		return
	}
	b := radioBin{
		fromNs: last.TimeNs, toNs: r.TimeNs,
		txRate:  positive(r.Values[tcp.RadioTxRateBps]),
		rxRate:  positive(r.Values[tcp.RadioRxRateBps]),
		packets: r.Growth(&last, tcp.RadioTxPackets),
		retries: r.Growth(&last, tcp.RadioTxRetries),
		failed:  r.Growth(&last, tcp.RadioTxFailed),
	}
	if r.Has(tcp.RadioSignalDbm) {
		b.signalDbm = float64(r.Values[tcp.RadioSignalDbm])
	}
	if len(l.bins) >= maxRadioBins {
		l.halve()
	}
	l.bins = append(l.bins, b)
}

// takeChannel adds the times of the channel to the last bin.
func (l *link) takeChannel(r *tcp.Radio) {
	last := l.channel
	l.channel = *r
	time, busy, ok := r.ChannelGrowth(&last)
	if !ok || len(l.bins) == 0 {
		return
	}
	b := &l.bins[len(l.bins)-1]
	b.channelMs += time
	b.busyMs += busy
	if r.Has(tcp.RadioChannelTxMs) && r.Has(tcp.RadioChannelRxMs) {
		own := r.Growth(&last, tcp.RadioChannelTxMs) + r.Growth(&last, tcp.RadioChannelRxMs)
		b.othersMs += max(0, busy-own)
	}
}

func positive(v int64) float64 { return float64(max(0, v)) }

// halve merges neighbours.
func (l *link) halve() {
	half := l.bins[:0]
	for i := 0; i+1 < len(l.bins); i += 2 {
		a := l.bins[i]
		b := l.bins[i+1]
		a.toNs = b.toNs
		a.txRate = meanKnown(a.txRate, b.txRate)
		a.rxRate = meanKnown(a.rxRate, b.rxRate)
		a.packets += b.packets
		a.retries += b.retries
		a.failed += b.failed
		a.othersMs += b.othersMs
		a.busyMs += b.busyMs
		a.signalDbm = meanKnown(a.signalDbm, b.signalDbm)
		a.channelMs += b.channelMs
		half = append(half, a)
	}
	l.bins = half
}

// meanKnown is the mean of two values, of which 0 is unknown.
func meanKnown(a, b float64) float64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return (a + b) / 2
}

// rateOf describes the rates of bins, without those that are unknown.
func rateOf(bins []radioBin, value func(*radioBin) float64) RadioRate {
	var values []float64
	for i := range bins {
		if v := value(&bins[i]); v > 0 {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return RadioRate{}
	}
	slices.Sort(values)
	return RadioRate{values[0], values[len(values)/2], values[len(values)-1]}
}

func sentRate(b *radioBin) float64 { return b.txRate }

func receivedRate(b *radioBin) float64 { return b.rxRate }

// since are the bins that end after a moment.
func (l *link) since(ns int64) []radioBin {
	from := len(l.bins)
	for from > 0 && l.bins[from-1].toNs > ns {
		from--
	}
	return l.bins[from:]
}

// sum sums up the interface over the time since a moment. Events count from the start.
func (l *link) sum(sinceNs int64) Radio {
	bins := l.since(sinceNs)
	r := Radio{
		Interface: l.id.Interface, SSID: l.ssid, Station: l.station, TxRate: rateOf(bins, sentRate),
		RxRate: rateOf(bins, receivedRate), Busy: -1, Scans: l.scans, Roams: l.roams, Disconnects: l.partings,
		Scanning: l.scanNs > 0, Disconnected: l.goneNs > 0,
	}
	var signal, signals float64
	var busyMs, channelMs int64
	for i := range bins {
		b := &bins[i]
		r.TxPackets += b.packets
		r.TxRetries += b.retries
		r.TxFailed += b.failed
		busyMs += b.busyMs
		channelMs += b.channelMs
		if b.signalDbm != 0 {
			signal += b.signalDbm
			signals++
		}
	}
	if signals > 0 {
		r.SignalDbm = signal / signals
	}
	if channelMs > 0 {
		r.Busy = float64(busyMs) / float64(channelMs)
	}
	return r
}

// RadioPoint is the state of a radio's link over about 100 ms, for figures.
type RadioPoint struct {
	FromNs, ToNs     int64
	TxBps, RxBps     float64 // PHY rates; 0: unknown
	Packets, Retries int64   // the sender's
	Failed           int64
}

// RadioAway is a time in which a radio scanned or had no access point.
type RadioAway struct {
	FromNs, ToNs int64
	Scan         bool
}

// RadioOf returns the history of the radio that carries a flow; nothing without one.
func (e *Engine) RadioOf(id tcp.FlowID) (points []RadioPoint, away []RadioAway) {
	f := e.flows.At(id)
	if f == nil || f.link() == nil {
		return nil, nil
	}
	l := f.link()
	for _, b := range l.bins {
		points = append(points, RadioPoint{b.fromNs, b.toNs, b.txRate, b.rxRate, b.packets, b.retries, b.failed})
	}
	for _, s := range l.away {
		away = append(away, RadioAway{s.fromNs, s.toNs, s.scan})
	}
	return points, away
}

// Radios sums up the radios over the time since a moment.
func (e *Engine) Radios(sinceNs int64) []Radio { return e.radios.list(sinceNs) }
