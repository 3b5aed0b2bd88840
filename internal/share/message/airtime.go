package message

import "cmp"

// Link describes the path of datagrams through the cell. It decides the airtime of a report.
//
// A multicast datagram is sent twice: to the access point as an ordinary acknowledged frame, and
// from there to all terminals at a basic rate without an acknowledgement. A unicast datagram is
// sent twice as an ordinary frame.
type Link struct {
	// BasicKbps is the rate of control frames and of multicast: 1, 2, 5.5 or 11 Mbit/s mean DSSS,
	// other rates OFDM. Zero means 6 Mbit/s.
	BasicKbps Rate
	// DataKbps is the rate of ordinary frames of the slowest known terminal. A measured rate is
	// safe, because it is lower. Zero means BasicKbps.
	DataKbps Rate
	// MulticastKbps is the rate of multicast. Zero means BasicKbps.
	MulticastKbps Rate
	// BothFamilies means that each report is sent by multicast over IPv4 and over IPv6.
	BothFamilies bool
	// Copies is the number of unicast datagrams of each report, in addition to the multicast
	// datagram.
	Copies int
	// NoMulticast means that reports are sent by unicast only.
	NoMulticast bool
}

const defaultBasicKbps = 6000

// aroundPayload is the number of bytes of a frame in addition to a datagram's payload: QoS MAC
// header 26, CCMP header and MIC 16, LLC and SNAP 8, IPv6 40, UDP 8, FCS 4.
const aroundPayload = 26 + 16 + 8 + 40 + 8 + 4

const ackBytes = 14

// timing holds the times of a kind of modulation in nanoseconds (IEEE 802.11-2020, 15.4.4, 17.4.4).
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

// ppduNs returns the duration of a frame. DSSS has a preamble and header of 192 us, then the bits.
// OFDM has a preamble of 20 us, then symbols of 4 us with 16 bits of SERVICE, the bits and 6 tail
// bits. Above 54 Mbit/s, the preamble is 52 us, as of 802.11ac with four streams.
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

// accessNs returns the AIFS of best effort (SIFS and three slots) plus the mean back-off of a lone
// station. It is an upper bound, because the back-offs of several stations run at the same time.
func (t timing) accessNs() int64 { return t.sifs + 3*t.slot + t.meanSlots2*t.slot/2 }

// ReportNs returns the airtime of a report in nanoseconds, over all its frames, without retries.
// payload is its UDP payload in bytes.
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

// passedOnNs returns the airtime of a report if some of its copies go to hubs. Such a copy is sent
// once as a report, and then in bundles to each of the other terminals. A bundle of several reports
// goes to all terminals, without their own report.
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

// ordinaryNs returns the airtime of an ordinary frame with its acknowledgement.
func (l Link) ordinaryNs(payload int) int64 {
	basic := l.basicKbps()
	data := l.DataKbps
	if data == 0 {
		data = basic
	}
	t := timingOf(basic) // with DSSS, all stations of the cell use its long slots
	return t.accessNs() + ppduNs(payload+aroundPayload, data) + t.sifs + ppduNs(ackBytes, basic)
}

// ShortestPeriodNs is the report period of a small cell.
const ShortestPeriodNs = 100_000_000

// reportsShare is the inverse of the part of the airtime for all reports together: 1 %.
const reportsShare = 100

// PeriodNs returns the mean time between two reports of a terminal. It keeps the reports of all
// terminals together at 1 % of the airtime, and is at least ShortestPeriodNs.
func PeriodNs(terminals int, reportNs int64) int64 {
	return max(ShortestPeriodNs, int64(terminals)*reportNs*reportsShare)
}
