package share

import (
	"slices"
	"time"

	"airtide/internal/share/link"
	"airtide/internal/share/message"
	"airtide/internal/share/radio"
)

// place is where the terminal is, as far as that is known.
type place struct {
	radio.Place
	bss uint32 // the access point, as terminals tell each other
}

// slowestRadio in kbit/s is the least that a radio is taken to carry: the lowest rate of OFDM.
const slowestRadio = 6000

// An access point sends multicast at the lowest rate that all its stations must support, unless it
// is configured otherwise: below ofdmBands in MHz that of 802.11b, in kbit/s, and above that of
// OFDM. If the band is unknown the lower one counts, since reports may take 1 % of the airtime at
// most.
const (
	slowestMulticast = 1000
	ofdmBands        = 4900
)

// multicast returns the rate at which datagrams to all are taken to cross the cell.
func (a *agent) multicast() message.Rate {
	switch {
	case a.config.MulticastBps > 0:
		return truncatedRate(a.config.MulticastBps)
	case a.place.MHz >= ofdmBands:
		return slowestRadio
	}
	return slowestMulticast
}

// truncatedRate rounds down, unlike message.RateOf.
func truncatedRate(bps float64) message.Rate {
	return message.Rate(min(bps/1000, float64(message.HighestRate)))
}

// reportLink says how reports cross the cell: at the slowest standalone rate that is known. The PHY
// rate is higher.
func (a *agent) reportLink() message.Link {
	l := message.Link{
		Copies: len(a.config.Link.Peers), NoMulticast: a.config.Link.Interface == "",
		BothFamilies: a.reports.groups.Both(), MulticastKbps: a.multicast(), DataKbps: truncatedRate(a.config.MaxBps),
	}
	for i := range a.reports.peers {
		if m := a.reports.peers[i].Report.MaxKbps; m > 0 && (l.DataKbps == 0 || m < l.DataKbps) {
			l.DataKbps = m
		}
	}
	if l.DataKbps > 0 { // a standalone rate that was not measured yet may be far too low
		l.DataKbps = max(l.DataKbps, slowestRadio)
	}
	return l
}

// familiesToReachAll returns the groups of a link by which all known terminals are reached, or all
// groups that it has if it lacks those.
func familiesToReachAll(have link.Families, four, six bool) link.Families {
	f := link.Families{Four: four && have.Four, Six: six && have.Six}
	if f == (link.Families{}) {
		return have
	}
	return f
}

// sameCell says whether two terminals may be at one access point.
func sameCell(a, b uint32) bool { return a == 0 || b == 0 || a == b }

// collectPeers takes the newest reports, and returns the time since the last one and the time from
// which on that is silence. Terminals at other access points do not count: they have airtime of
// their own. But their reports come this way too, and count in the report period.
func (a *agent) collectPeers(nowNs int64) (silence, limit time.Duration) {
	r := &a.reports
	r.peers = r.receiver.Peers(r.peers[:0], nowNs)
	heard := len(r.peers)
	r.peers = slices.DeleteFunc(r.peers, func(p message.Peer) bool { return !sameCell(p.Report.BSS, a.place.bss) })
	r.elsewhere = heard - len(r.peers)
	newest := int64(0)
	for i := range r.peers {
		newest = max(newest, r.peers[i].HeardNs)
	}
	limit = max(minSilenceLimit, silenceGaps*time.Duration(r.receiver.MeanGapNs(r.elsewhere)))
	return time.Duration(nowNs - newest), limit
}
