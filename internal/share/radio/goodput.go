package radio

import (
	"math"

	"airtide/internal/kernel/nl80211"
)

// Generation is the 802.11 generation of a rate.
type Generation = nl80211.Generation

// The generations.
const (
	Legacy = nl80211.Legacy
	HT     = nl80211.HT
	VHT    = nl80211.VHT
	HE     = nl80211.HE
	EHT    = nl80211.EHT
)

// standards are the generations by the letters of their amendments.
var standards = map[string]Generation{
	"802.11b": Legacy, "802.11a": Legacy, "802.11g": Legacy, "802.11n": HT, "802.11ac": VHT, "802.11ax": HE,
	"802.11be": EHT,
}

// PHY is the present mode of a station's transmissions.
type PHY struct {
	Bps        float64
	Generation Generation
	Streams    int
	Place
}

// Place is the access point and the channel of a station.
type Place struct {
	BSSID BSSID // its access point
	MHz   int   // frequency of its channel; 0: unknown
	// Busy is the part of the last second in which the channel was busy; 0: unknown.
	Busy float64
}

// BSSID names an access point; the zero value is not known.
type BSSID [6]byte

// Parts of a frame exchange, in seconds and bytes (IEEE 802.11-2020, 10.3.2, 10.6.6, clauses 15 to
// 19 and 21; 802.11ax-2021, clause 27).
const (
	sifs        = 16e-6
	slot        = 9e-6
	meanSlots   = 4.8   // the less of two draws from 0 to 15: both ends have something to send
	aifsSlots   = 3     // slots of best effort behind SIFS
	blockAck    = 32e-6 // 32 bytes at 24 Mbit/s
	ack         = 28e-6 // 14 bytes at 24 Mbit/s
	mostAirtime = 4e-3  // seconds of an A-MPDU at most, as in mac80211 and drivers
	mostFrames  = 64    // frames of an A-MPDU at most; with HE up to 256, which not all radios use
	mostHTBytes = 65535 // bytes of an A-MPDU of 802.11n at most (10.12.2)

	packet     = 1500
	segment    = 1448 // payload of a TCP segment with time stamps, bytes
	ackPacket  = 52
	around     = 26 + 4 + 8 // QoS header, FCS, LLC and SNAP
	delimiter  = 4
	dsssHeader = 192e-6
	ofdmHeader = 20e-6
)

// Goodput returns the TCP goodput of a bulk upload of a station alone at a PHY rate, in bit/s, or 0
// for a rate of 0. The station sends A-MPDUs of f packets, limited to 64 frames and 4 ms, and with
// 802.11n to 65535 bytes. The access point answers each with an A-MPDU of one ACK for two segments.
// There is no loss and no collision.
//
//	goodput = f x 8 x 1448 / (access(f of 1500 bytes) + access(f/2 of 52 bytes))
//	access  = SIFS + (3 + 4.8) slots + preamble + 8 x frames / rate + SIFS + BlockAck
//
// Legacy rates have one packet in each access, and an ACK every second time.
func Goodput(p PHY) float64 {
	if p.Bps <= 0 || math.IsInf(p.Bps, 0) || math.IsNaN(p.Bps) {
		return 0
	}
	size := func(bytes int) float64 {
		n := bytes + around
		if p.Generation != Legacy {
			n = (n + delimiter + 3) / 4 * 4 // subframes are padded to four bytes
		}
		return float64(n)
	}
	frame := func(bytes int) float64 { return 8 * size(bytes) / p.Bps }
	frames := 1.0
	answer := ack
	if p.Generation != Legacy {
		frames = min(max(1, math.Floor((mostAirtime-p.preamble())/frame(packet))), mostFrames)
		answer = blockAck
	}
	if p.Generation == HT {
		frames = min(frames, math.Floor(mostHTBytes/size(packet)))
	}
	access := func(onAir float64) float64 {
		return sifs + (aifsSlots+meanSlots)*slot + p.preamble() + onAir + sifs + answer
	}
	accesses := access(frames * frame(packet))
	if acks := frames / 2; acks < 1 {
		accesses += acks * access(frame(ackPacket))
	} else {
		accesses += access(acks * frame(ackPacket))
	}
	return frames * 8 * segment / accesses
}

// preamble is everything in front of the data.
func (p PHY) preamble() float64 {
	training := []float64{1, 2, 4, 4, 6, 6, 8, 8}[min(max(p.Streams, 1), 8)-1]
	switch p.Generation {
	case HT:
		return ofdmHeader + 12e-6 + 4e-6*training
	case VHT:
		return ofdmHeader + 16e-6 + 4e-6*training
	case HE:
		return ofdmHeader + 16e-6 + 7.2e-6*training
	case EHT:
		return ofdmHeader + 20e-6 + 7.2e-6*training // U-SIG and EHT-SIG
	}
	switch p.Bps {
	case 1e6, 2e6, 5.5e6, 11e6:
		return dsssHeader
	}
	return ofdmHeader
}
