package share

import (
	"airtide/internal/share/cellkey"
	"airtide/internal/share/link"
	"airtide/internal/share/message"
	"airtide/internal/share/radio"
)

// place is the known access point and channel of the terminal.
type place struct {
	radio.Place
	hashes map[cellkey.Tag]uint32 // the access point's hash in reports, by key
}

// setKeys computes the hashes of the access point.
func (p *place) setKeys(keys cellkey.Pair) {
	p.hashes = map[cellkey.Tag]uint32{}
	if p.BSSID == (radio.BSSID{}) {
		return
	}
	for _, k := range keys.Keys() {
		p.hashes[k.Tag()] = k.BSS(p.BSSID)
	}
}

// hash returns the hash of the access point under the key with a tag; 0: it is unknown.
func (p *place) hash(key cellkey.Tag) uint32 { return p.hashes[key] }

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
func (p *place) multicast(c *Config) message.Rate {
	switch {
	case c.MulticastBps > 0:
		return truncatedRate(c.MulticastBps)
	case p.MHz >= ofdmBands:
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
func (p *place) reportLink(c *Config, groups link.Families, peers []message.Peer) message.Link {
	l := message.Link{
		Copies: len(c.Link.Peers), NoMulticast: c.Link.Interface == "",
		BothFamilies: groups.Both(), MulticastKbps: p.multicast(c), DataKbps: truncatedRate(c.MaxBps),
	}
	for i := range peers {
		if m := peers[i].Report.MaxKbps; m > 0 && (l.DataKbps == 0 || m < l.DataKbps) {
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
