package message

import "cmp"

// Link is how datagrams cross the cell, which decides how much airtime a report takes.
//
// A multicast datagram crosses it twice: to the access point as an ordinary frame, which is
// acknowledged, and from there to all at a basic rate, which is not. A unicast datagram crosses it
// twice too, as ordinary frames.
type Link struct {
	// BasicKbps is the rate of control frames and of multicast: 1, 2, 5.5 or 11 Mbit/s of DSSS,
	// else one of OFDM. Zero: 6 Mbit/s.
	BasicKbps Rate
	// DataKbps is the rate of ordinary frames, of the slowest terminal if it is known; a measured
	// rate will do, for it is lower. Zero: BasicKbps.
	DataKbps Rate
	// MulticastKbps is the rate of multicast where it is another than BasicKbps, which it is where
	// that is zero.
	MulticastKbps Rate
	// BothFamilies: each report goes by multicast over IPv4 and over IPv6, since neither reaches
	// all.
	BothFamilies bool
	// Copies are the unicast datagrams of each report, besides the multicast one or, with
	// NoMulticast, instead of it.
	Copies      int
	NoMulticast bool
}

const defaultBasicKbps = 6000

// Bytes of a frame round a datagram's payload: QoS MAC header 26, CCMP header and MIC 16, LLC and
// SNAP 8, IPv6 40, UDP 8, FCS 4.
const aroundPayload = 26 + 16 + 8 + 40 + 8 + 4

const ackBytes = 14

// timing is what the kind of modulation decides, in nanoseconds (IEEE 802.11-2020, 15.4.4, 17.4.4).
type timing struct{ sifs, slot, meanSlots2 int64 }

// meanSlots2 is twice the mean back-off in slots: the smallest contention window.
var (
	dsssTiming = timing{sifs: 10_000, slot: 20_000, meanSlots2: 31}
	ofdmTiming = timing{sifs: 16_000, slot: 9_000, meanSlots2: 15}
)

func dsss(kbps Rate) bool { return kbps == 1000 || kbps == 2000 || kbps == 5500 || kbps == 11000 }

func timingOf(kbps Rate) timing {
	if dsss(kbps) {
		return dsssTiming
	}
	return ofdmTiming
}

// ppduNs is how long a frame is on the air. DSSS: preamble and header of 192 us, then the bits.
// OFDM: 20 us, then symbols of 4 us that hold 16 bits of SERVICE, the bits, and 6 bits of tail.
// Above 54 Mbit/s the preamble is that of 802.11ac with four streams, 52 us, which no 802.11n, ac
// or ax device with fewer exceeds.
func ppduNs(bytes int, kbps Rate) int64 {
	bits := int64(bytes) * 8
	if dsss(kbps) {
		return 192_000 + ceil(bits*1_000_000, int64(kbps))
	}
	preamble := int64(20_000)
	if kbps > 54_000 {
		preamble = 52_000
	}
	// A symbol of 4 us holds kbps/250 bits.
	return preamble + 4000*ceil((16+bits+6)*250, int64(kbps))
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

// accessNs is AIFS of best effort (SIFS and three slots) and the mean back-off with the medium for
// oneself. When others wait as well their back-offs run together, so that this is the most.
func (t timing) accessNs() int64 { return t.sifs + 3*t.slot + t.meanSlots2*t.slot/2 }

// ReportNs is the airtime in nanoseconds of a report of so many bytes of UDP payload, over all its
// frames, without retries.
func (l Link) ReportNs(payload int) int64 {
	total := 2 * l.ordinaryNs(payload) * int64(max(0, l.Copies))
	if !l.NoMulticast {
		rate := cmp.Or(l.MulticastKbps, l.basicKbps())
		once := l.ordinaryNs(payload) + timingOf(rate).accessNs() + ppduNs(payload+aroundPayload, rate)
		total += once
		if l.BothFamilies {
			total += once
		}
	}
	return total
}

// passedOnNs is ReportNs where so many of the copies go to hubs. Such a copy crosses the cell once
// as it is, and then in bundles to each of the others. A bundle of several goes to their own
// terminals too, without their own report.
func (l Link) passedOnNs(payload, others, hubs int) int64 {
	total := l.ReportNs(payload)
	if others > 0 {
		k := bundledReports(payload, others)
		receivers := others
		if k > 1 {
			receivers += itself
		}
		bundle := l.ordinaryNs(bundleSize(k, payload))
		total += int64(hubs) * (ceil(int64(receivers)*bundle, int64(k)) - l.ordinaryNs(payload))
	}
	return total
}

func (l Link) basicKbps() Rate {
	if l.BasicKbps == 0 {
		return defaultBasicKbps
	}
	return l.BasicKbps
}

// ordinaryNs is the airtime of a frame at the rate of ordinary ones, with its acknowledgement.
func (l Link) ordinaryNs(payload int) int64 {
	basic, data := l.basicKbps(), l.DataKbps
	if data == 0 {
		data = basic
	}
	t := timingOf(basic) // a cell with DSSS has its long slots for all
	return t.accessNs() + ppduNs(payload+aroundPayload, data) + t.sifs + ppduNs(ackBytes, basic)
}

// ShortestPeriodNs is the period of a small cell.
const ShortestPeriodNs = 100_000_000

// reportsShare is one over the part of the airtime that all reports together may take: 1 %.
const reportsShare = 100

// PeriodNs is the mean time between two reports of one terminal, of so many in all, when each
// report takes an airtime: the shortest period, and no less than what keeps all together at 1 % of
// the airtime.
func PeriodNs(terminals int, reportNs int64) int64 {
	return max(ShortestPeriodNs, int64(terminals)*reportNs*reportsShare)
}
