package share

import (
	"slices"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/share/link"
	"airtide/internal/share/message"
	"airtide/internal/share/radio"
)

// slowestRadio in kbit/s is what a radio is taken to reach at least: the lowest rate of OFDM.
const slowestRadio = 6000

// An access point sends multicast at the lowest rate that all its stations have to know, unless it was told another: in kbit/s that of 802.11b
// below bandsOfOFDM in MHz, where there is 802.11b, and that of OFDM above. Where the band is not known it is the lower one: reports
// are to take 1 % of the airtime at most.
const (
	slowestMulticast = 1000
	bandsOfOFDM      = 4900
)

// multicast is at what rate datagrams to all are taken to cross the cell.
func (a *agent) multicast() message.Rate {
	switch {
	case a.config.MulticastBps > 0:
		return kbps(a.config.MulticastBps)
	case a.place.MHz >= bandsOfOFDM:
		return slowestRadio
	}
	return slowestMulticast
}

// way is how this agent's datagrams cross the cell: at what the slowest terminal reaches alone, as far as that is known: its PHY
// rate is higher.
func (a *agent) way() message.Link {
	w := message.Link{
		Copies: len(a.config.Link.Peers), NoMulticast: a.config.Link.Interface == "", BothFamilies: a.groups.Both(), MulticastKbps: a.multicast(),
		DataKbps: kbps(a.self.maximum),
	}
	for _, p := range a.peers {
		if m := p.Report.MaxKbps; m > 0 && (w.DataKbps == 0 || m < w.DataKbps) {
			w.DataKbps = m
		}
	}
	if w.DataKbps > 0 { // a maximum that is not known yet is as low as what was seen
		w.DataKbps = max(w.DataKbps, slowestRadio)
	}
	return w
}

// reaching are those of a link's groups by which all who are known are reached, or all that it has where it lacks what that takes.
func reaching(have link.Families, four, six bool) link.Families {
	f := link.Families{Four: four && have.Four, Six: six && have.Six}
	if f == (link.Families{}) {
		return have
	}
	return f
}

// sameCell says whether two terminals are at one access point, as far as it is known where they are.
func sameCell(a, b uint32) bool { return a == 0 || b == 0 || a == b }

// gather takes in which other terminals count, and for how long nobody of them has been heard. Terminals of another access point do not: they
// have airtime of their own. Their reports come this way too, and count in how often one may speak.
func (a *agent) gather(nowNs int64) (quiet time.Duration) {
	a.peers = a.receiver.Peers(a.peers[:0], nowNs)
	heard := len(a.peers)
	a.peers = slices.DeleteFunc(a.peers, func(p message.Peer) bool { return !sameCell(p.Report.BSS, a.bss) })
	a.elsewhere = heard - len(a.peers)
	newest := int64(0)
	for i := range a.peers {
		newest = max(newest, a.peers[i].HeardNs)
	}
	a.patience = max(silence, pauses*time.Duration(a.receiver.PauseNs(a.elsewhere)))
	return time.Duration(nowNs - newest)
}

// tuned takes in how the radio is doing. Between two access points it is still at the last one; at another one nothing is known of
// the cell yet.
func (a *agent) tuned(s radio.State) {
	a.self.phy, a.self.byPHY, a.self.single = s.PHYBps, s.AloneBps, s.Single || a.config.SingleFrames
	if s.MHz > 0 {
		a.place.MHz = s.MHz
	}
	if s.BSSID == (radio.BSSID{}) || s.BSSID == a.place.BSSID {
		return
	}
	roamed := a.place.BSSID != (radio.BSSID{})
	a.place.BSSID, a.bss = s.BSSID, a.config.Key.BSS(s.BSSID)
	if !roamed {
		return
	}
	a.config.Notice("this terminal is at another access point now, whose terminals it shares with")
	a.control, a.balance, a.decision = control.New(a.config.Control), control.Balance{}, control.Decision{}
	a.together = together{turns: control.NewTurns(a.session)}
	a.self.forget()
}
