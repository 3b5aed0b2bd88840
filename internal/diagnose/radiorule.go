package diagnose

import (
	"fmt"
	"math"
	"slices"

	"airtide/internal/units"
)

// Thresholds of the rules about the radio. They are estimates: no published measurement gives them.
const (
	awayShare   = 0.6  // share of the pauses that a scan or a change of the access point explains
	fallenRate  = 0.6  // part of the greatest PHY rate: below, it fell
	usedRate    = 0.3  // goodput over the PHY rate, retries included: above, the radio is busy with it
	mostUsed    = 1.3  // goodput over the PHY rate: above, it is not the rate of the data
	retryShare  = 0.3  // share of the packets that were repeated
	failedShare = 0.5  // share of TCP's retransmissions that the radio gave up
	busyShare   = 0.5  // share of the time in which others used the channel
	leastSent   = 50   // packets for a share of them
	barelyRetry = 0.01 // part of the packets that are repeated: this is hardly any
)

// radioView has the state of the radio during a phase.
type radioView struct {
	link                     *link
	tx, rx                   RadioRate
	packets, retries, failed int64
	others                   float64 // share of time in which others sent; 0: unknown
	best, bestRx             float64 // greatest PHY rates of the whole recording, bit/s
}

// during sums up a time. It is nil if the radio told nothing in it.
func (l *link) during(fromNs, toNs int64) *radioView {
	if l == nil {
		return nil
	}
	from, _ := slices.BinarySearchFunc(l.bins, fromNs, func(b radioBin, ns int64) int {
		if b.toNs <= ns {
			return -1
		}
		return 1
	})
	to := from
	v := &radioView{link: l}
	var channelMs, othersMs int64
	for ; to < len(l.bins) && l.bins[to].fromNs < toNs; to++ {
		b := &l.bins[to]
		v.packets += b.packets
		v.retries += b.retries
		v.failed += b.failed
		channelMs += b.channelMs
		othersMs += b.othersMs
	}
	if from == to && !l.isAway(fromNs, toNs) {
		return nil
	}
	v.tx = rateOf(l.bins[from:to], sentRate)
	v.rx = rateOf(l.bins[from:to], receivedRate)
	for i := range l.bins {
		v.best = max(v.best, l.bins[i].txRate)
		v.bestRx = max(v.bestRx, l.bins[i].rxRate)
	}
	if channelMs > 0 {
		v.others = float64(othersMs) / float64(channelMs)
	}
	return v
}

// logRates are the logarithms of the PHY rate of sending at each bin of a flow. A bin without a
// record has the rate of the one before.
func (l *link) logRates(bins []bin) []float64 {
	logs := make([]float64, len(bins))
	at := 0
	known := 0.0
	for i := range bins {
		for at < len(l.bins) && l.bins[at].fromNs < bins[i].toNs {
			if l.bins[at].txRate > 0 {
				known = math.Log(l.bins[at].txRate)
			}
			at++
		}
		logs[i] = known
	}
	return logs
}

// isAway reports whether the radio was away from its channel in a part of a time.
func (l *link) isAway(fromNs, toNs int64) bool {
	for _, s := range l.away {
		if s.fromNs < toNs && fromNs < s.toNs {
			return true
		}
	}
	since := func(ns int64) bool { return ns > 0 && ns < toNs }
	return since(l.scanNs) || since(l.goneNs)
}

// retried is the share of packets that were repeated.
func (v *radioView) retried() float64 {
	if v.packets < leastSent {
		return 0
	}
	return float64(v.retries) / float64(v.packets)
}

// link is the interface of a radio that carries the flow, or nil.
func (f *flow) link() *link {
	if f.radios == nil || !f.Local.IsValid() {
		return nil
	}
	return f.radios.of(f.NetNS, f.Local.Addr())
}

// radioPauses recognises pauses in which the radio scanned or changed its access point.
func radioPauses(p *phase) *match {
	v := p.radio
	if v == nil {
		return nil
	}
	var all, away int64
	for i := range p.bins {
		b := &p.bins[i]
		// A pause counts in the bin in which it ended.
		paused := b.stallNs + b.timeoutUs*1000
		from := b.fromNs - paused
		if p.receives() {
			paused = max(0, b.lengthNs()-b.dataNs)
			from = b.fromNs
		}
		all += paused
		if v.link.isAway(from, b.toNs) {
			away += paused
		}
	}
	share := min(1, float64(away)/float64(max(1, p.lengthNs())))
	explained := float64(away) / float64(max(1, all))
	if share < stalledShare || explained < awayShare {
		return nil
	}
	return verdict(RadioLimit, share > 2*stalledShare && explained > 0.8).
		because("scan_start, disconnect, roam", "during scans or without an access point the transfer paused "+
			"for %s of the time: %s of all pauses", units.Percent(share), units.Percent(explained))
}

// radioLink recognises a radio that is slower than it could be: its rate fell, it repeats, it gives
// up packets, or others hold the channel.
func radioLink(p *phase) *match {
	v := p.radio
	waits := p.share[condWindow] + p.share[condPaced] + p.share[condDevice]
	if v == nil || waits < windowFull*p.active() {
		return nil
	}
	used := 0.0
	if mostUsed*v.tx.Median > p.rateBps() { // else it is not the rate of the data: simulated radios do not keep to it
		used = p.rateBps() * (1 + v.retried()) / v.tx.Median
	}
	switch {
	case p.retrans > 0 && float64(v.failed) >= failedShare*float64(p.retrans) && v.failed > 1:
		return verdict(RadioLimit, v.failed >= p.retrans).
			because("tx_failed", "the radio gave up %s after all retries, and TCP sent %d again",
				units.Count(v.failed, "packet"), p.retrans)
	case v.tx.Median < fallenRate*v.best && used > usedRate:
		return verdict(RadioLimit, used > 1.5*usedRate && v.tx.Median < fallenRate*fallenRate*v.best).
			because("tx_rate_bps", "the PHY rate was %s, and %s at its best; the connection used %s of it",
				rate(v.tx.Median), rate(v.best), units.Percent(p.rateBps()/v.tx.Median))
	case v.retried() > retryShare && used > usedRate:
		return verdict(RadioLimit, v.retried() > 2*retryShare).
			because("tx_retries", "%s for %s: %s", retriesText(v.retries), units.Count(v.packets, "packet"),
				units.Percent(v.retried()))
	case v.others > busyShare:
		return verdict(RadioLimit, false).
			because("busy_ms", "others held the channel for %s of the time", units.Percent(v.others))
	}
	return nil
}

// radioReception recognises at the receiver that the radio's rate fell.
func radioReception(p *phase) *match {
	v := p.radio
	if v == nil || v.rx.Median == 0 || v.rx.Median >= fallenRate*v.bestRx ||
		p.receiveBps() < usedRate*v.rx.Median || p.receiveBps() > mostUsed*v.rx.Median {
		return nil
	}
	return verdict(RadioLimit, false).
		because("rx_rate_bps", "the PHY rate was %s, and %s at its best; the connection used %s of it",
			rate(v.rx.Median), rate(v.bestRx), units.Percent(p.receiveBps()/v.rx.Median))
}

// nextRadio is the next step, with the rate that the radio's best PHY rate allows.
func (p *phase) nextRadio() string {
	v := p.radio
	now := max(p.rateBps(), p.receiveBps())
	usual := v.tx.Median
	best := v.best
	if p.receives() {
		usual = v.rx.Median
		best = v.bestRx
	}
	if usual > 0 && usual < fallenRate*best {
		return fmt.Sprintf("Improve the radio's link (distance, channel, antenna): at its best PHY rate of %s "+
			"instead of %s it sends a packet in %s of the time, and carries more than the %s of now.", rate(best),
			rate(usual), units.Percent(usual/best), rate(now))
	}
	return "Look at the radio: its signal, its channel and its neighbours, and who asks for scans."
}

// RadioLosses compares the retransmissions of TCP with those of the radio meanwhile.
type RadioLosses struct {
	Interface string `json:"interface"`
	// Retransmitted counts packets that TCP sent again. The others are those of the radio.
	Retransmitted int64 `json:"retransmitted_packets"`
	Packets       int64 `json:"radio_packets"`
	Retries       int64 `json:"radio_retries"`
	Failed        int64 `json:"radio_failed"`
}

// radioLosses compares them; nil if TCP repeated nothing, or the radio tells nothing.
func (f *flow) radioLosses() *RadioLosses {
	l := f.link()
	if l == nil || len(f.bins) == 0 {
		return nil
	}
	v := l.during(f.bins[0].fromNs, f.bins[len(f.bins)-1].toNs)
	var retrans int64
	for i := range f.bins {
		retrans += f.bins[i].retrans
	}
	if v == nil || v.packets < leastSent || retrans == 0 {
		return nil
	}
	return &RadioLosses{l.id.Interface, retrans, v.packets, v.retries, v.failed}
}

// String is the verdict in a sentence.
func (r *RadioLosses) String() string {
	sent := units.Count(r.Retransmitted, "packet")
	name := units.Printable(r.Interface)
	of := fmt.Sprintf("%s for %s, %d failed", retriesText(r.Retries), units.Count(r.Packets, "packet"), r.Failed)
	const elsewhere = "they were lost behind the radio or in a queue, or not lost"
	switch {
	case r.Failed > 0 && float64(r.Failed) >= failedShare*float64(r.Retransmitted):
		return fmt.Sprintf("TCP sent %s again, and %s gave up about as many: they were lost on the air (%s)", sent,
			name, of)
	case r.Failed > 0:
		return fmt.Sprintf("TCP sent %s again, and %s gave up fewer: most were lost elsewhere (%s)", sent, name, of)
	case r.Retries == 0:
		return fmt.Sprintf("TCP sent %s again while %s had no retries: %s (%s)", sent, name, elsewhere, of)
	case float64(r.Retries) <= barelyRetry*float64(r.Packets):
		return fmt.Sprintf("TCP sent %s again while %s had hardly any retries: %s (%s)", sent, name, elsewhere, of)
	}
	return fmt.Sprintf("TCP sent %s again, and %s gave up none, as its own retries repaired the losses on the air: "+
		"%s (%s)", sent, name, elsewhere, of)
}
