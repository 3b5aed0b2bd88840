package share

import (
	"slices"
	"time"

	"airtide/internal/share/link"
	"airtide/internal/share/message"
	"airtide/internal/share/radio"
)

// place is the known access point and channel of the terminal.
type place struct {
	radio.Place
	bss uint32 // hash of the access point in reports
}

// slowestRadio is the lowest assumed rate of a radio in kbit/s: the lowest rate of OFDM.
const slowestRadio = 6000

// An access point sends multicast at the lowest rate that all its stations must support: of 802.11b
// below ofdmBands in MHz, of OFDM above. slowestMulticast is the rate of 802.11b in kbit/s. It also
// counts if the band is unknown, so that reports take at most 1 % of the airtime.
const (
	slowestMulticast = 1000
	ofdmBands        = 4900
)

// multicast returns the assumed rate of multicast in the cell.
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

// reportLink returns the path of reports through the cell. Its data rate is the slowest known
// standalone rate, which is below the PHY rate.
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
	if l.DataKbps > 0 { // the first estimate of a standalone rate may be far too low
		l.DataKbps = max(l.DataKbps, slowestRadio)
	}
	return l
}

// familiesToReachAll returns the groups of a link that reach all known terminals. If the link lacks
// them, it returns all groups of the link.
func familiesToReachAll(have link.Families, four, six bool) link.Families {
	f := link.Families{Four: four && have.Four, Six: six && have.Six}
	if f == (link.Families{}) {
		return have
	}
	return f
}

// sameCell reports whether two terminals may have the same access point.
func sameCell(a, b uint32) bool { return a == 0 || b == 0 || a == b }

// collectPeers collects the newest reports. It returns the time since the last report and its
// limit. Terminals at other access points have their own airtime, so they count only for the report
// period.
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
