package medium

// Band is the spectrum that a cell uses.
type Band uint8

// The bands.
const (
	Band5GHz Band = iota
	Band2GHz      // 2.4 GHz: shorter SIFS, and silence after each OFDM frame
)

const (
	ofdmSymbolNs   = 4000
	ofdmPreambleNs = 20000 // training fields and SIGNAL (17.3.2)
	// longestPPDUNs is aPPDUMaxTime of HT in mixed format, VHT and HE: the L-SIG field cannot say
	// more.
	longestPPDUNs = 5484000
	// An ERP-OFDM or HT frame at 2.4 GHz is followed by 6 us without signal, so that SIFS, which is
	// shorter there, leaves the decoder its time (18.4.3).
	signalExtensionNs = 6000
	// ccaNs is the time after which a carrier is heard (aCCATime, table 17-21: below 4 us). A
	// transmission that starts within this time collides.
	ccaNs = 4000
)

// Sizes in bytes (9.3).
const (
	rtsBytes          = 20
	ctsBytes          = 14
	ackBytes          = 14
	blockAckReqBytes  = 24
	blockAckBytes     = 32 // compressed, with a bitmap of 64 frames
	blockAckBytes256  = 56
	legacyHeaderBytes = 24
	qosHeaderBytes    = 26
	fcsBytes          = 4
	llcSnapBytes      = 8
	delimiterBytes    = 4
	legacyMaxPSDU     = 4095    // the LENGTH field of SIGNAL has 12 bits
	htMaxAMPDU        = 65535   // the length exponent of HT ends at 2^16 - 1
	vhtMaxAMPDU       = 1048575 // of VHT at 2^20 - 1
	heMaxAMPDU        = 6500631 // HE: by the longest PPDU at its highest rate (table 27-61)
)

// Frames of a BlockAck agreement: the bits of its compressed bitmap.
const (
	window   = 64
	windowHE = MostFrames
)

// Times in ns.
const (
	vhtSIGBNs = 4000
	// heTrainingUsefulNs is the useful part of HE's training symbols. They have half length with
	// short guard intervals.
	heTrainingUsefulNs = 6400
)

func dsssPreambleNs(kbps int, short bool) int64 {
	if short && kbps > 1000 {
		return 96000 // 72 bits at 1 Mbit/s and 48 at 2
	}
	return 192000 // 144 + 48 bits at 1 Mbit/s
}

// mcsPreambleNs is everything in front of the data: the legacy part (20 us), then
//   - HT (19.3.2): HT-SIG 8, HT-STF 4, and 4 for each training field
//   - VHT (21.3.2): VHT-SIG-A 8, VHT-STF 4, training fields of 4, VHT-SIG-B 4
//   - HE (27.3.4): RL-SIG 4, HE-SIG-A 8, HE-STF 4, training fields; no packet extension.
func mcsPreambleNs(s Standard, streams, guardNs int) int64 {
	fields := int64([]int{1, 2, 4, 4, 6, 6, 8, 8}[streams-1])
	switch s {
	case Std11n:
		return ofdmPreambleNs + 12000 + 4000*fields
	case Std11ac:
		return ofdmPreambleNs + 12000 + 4000*fields + vhtSIGBNs
	}
	training := int64(heTrainingUsefulNs + guardNs)
	if guardNs == 3200 {
		training = 2*heTrainingUsefulNs + 3200
	}
	return ofdmPreambleNs + 16000 + training*fields
}

// ppduNs returns the duration of a frame of the given size without signal extension (TXTIME of
// 16.3.4, 17.4.3, 19.4.3, 21.4.3 and 27.4.3). With the short guard interval the sum of the symbols
// is rounded up to 4 us.
func (p *PHY) ppduNs(bytes int) int64 {
	bits := int64(bytes) * 8
	if p.Standard == Std11b {
		us := (bits*1000 + int64(p.referenceKbps) - 1) / int64(p.referenceKbps)
		return p.preambleNs + us*1000
	}
	symbols := (16 + bits + p.tail + p.dbps - 1) / p.dbps
	ns := symbols * p.symbolNs
	if p.symbolNs < ofdmSymbolNs {
		ns = (ns + ofdmSymbolNs - 1) / ofdmSymbolNs * ofdmSymbolNs
	}
	return p.preambleNs + ns
}

// bytesIn is the largest frame that takes no longer than a time.
func (p *PHY) bytesIn(ns int64) int {
	ns -= p.preambleNs
	if ns <= 0 {
		return 0
	}
	if p.Standard == Std11b {
		return int(ns / 1000 * int64(p.referenceKbps) / 8000)
	}
	if p.symbolNs < ofdmSymbolNs {
		ns = ns / ofdmSymbolNs * ofdmSymbolNs
	}
	return int(max(0, (ns/p.symbolNs*p.dbps-16-p.tail)/8))
}

// mandatoryKbps are the rates of responses if the cell has no basic rates: the mandatory rates of
// DSSS and OFDM.
var mandatoryKbps = []int{1000, 2000, 5500, 11000, 6000, 12000, 24000}

func dsss(kbps int) bool { return kbps == 1000 || kbps == 2000 || kbps == 5500 || kbps == 11000 }

// ofBOrG reports whether 802.11b or 802.11g has the rate.
func ofBOrG(kbps int) bool {
	_, err := Legacy(Std11g, float64(kbps)/1000)
	return err == nil || dsss(kbps)
}

// responseKbps is the rate of the control frame that answers a frame: the highest basic rate of the
// same kind of modulation that is not above the frame's own, else the highest mandatory one
// (10.6.6.5.2).
func responseKbps(p *PHY, basicKbps []int) int {
	for _, rates := range [][]int{basicKbps, mandatoryKbps} {
		best := 0
		for _, kbps := range rates {
			if dsss(kbps) == (p.Standard == Std11b) && kbps <= p.referenceKbps {
				best = max(best, kbps)
			}
		}
		if best != 0 {
			return best
		}
	}
	return p.referenceKbps // every rate is at or above a mandatory one
}

// radio is a PHY in its cell, with the durations of its frames and their acknowledgements.
type radio struct {
	PHY
	qos          bool
	extensionNs  int64
	ackNs        int64
	blockAckNs   int64
	barNs        int64 // BlockAckReq
	rtsNs        int64
	leadNs       int64 // RTS, SIFS, CTS and SIFS
	timeoutNs    int64 // of CTS, ACK and BlockAck, from the end of the frame (10.3.2.11)
	airtimeBytes int   // the most in longestPPDUNs
}

// legacy is the PHY of control frames.
func legacy(kbps int, shortPreamble bool) PHY {
	if dsss(kbps) {
		return PHY{Standard: Std11b, referenceKbps: kbps, preambleNs: dsssPreambleNs(kbps, shortPreamble)}
	}
	return PHY{
		Standard: Std11a, referenceKbps: kbps, preambleNs: ofdmPreambleNs, symbolNs: ofdmSymbolNs, tail: 6,
		dbps: int64(kbps) * ofdmSymbolNs / 1e6,
	}
}

func (c *Config) radio(p PHY, qos bool) radio {
	r := radio{PHY: p, qos: qos, airtimeBytes: legacyMaxPSDU}
	if p.Standard == Std11ac && c.LeaveOutVHTSIGB {
		r.preambleNs -= vhtSIGBNs
	}
	if c.Band == Band2GHz && p.Standard != Std11b {
		r.extensionNs = signalExtensionNs
	}
	control := legacy(responseKbps(&r.PHY, c.BasicRatesKbps), p.ShortPreamble)
	r.ackNs = control.ppduNs(ackBytes) + r.extensionNs
	r.blockAckNs = control.ppduNs(blockAckBytes) + r.extensionNs
	if p.Standard == Std11ax {
		r.blockAckNs = control.ppduNs(blockAckBytes256) + r.extensionNs
	}
	r.barNs = control.ppduNs(blockAckReqBytes) + r.extensionNs
	r.rtsNs = control.ppduNs(rtsBytes) + r.extensionNs
	r.leadNs = r.rtsNs + control.ppduNs(ctsBytes) + r.extensionNs + 2*c.sifsNs()
	r.timeoutNs = c.sifsNs() + c.SlotNs + control.preambleNs
	if p.Standard.aggregates() {
		r.airtimeBytes = r.bytesIn(longestPPDUNs)
	}
	return r
}

// frameNs is the time that a frame occupies the medium, signal extension included.
func (r *radio) frameNs(bytes int) int64 { return r.ppduNs(bytes) + r.extensionNs }

// mpduBytes returns the size of a packet's frame: header, LLC and SNAP header, packet, FCS.
func (r *radio) mpduBytes(packet int) int {
	if r.qos {
		return packet + qosHeaderBytes + fcsBytes + llcSnapBytes
	}
	return packet + legacyHeaderBytes + fcsBytes + llcSnapBytes
}

func (c *Config) sifsNs() int64 {
	if c.Band == Band2GHz {
		return 10000
	}
	return 16000
}

// eifsNs is the part of EIFS that precedes DIFS or AIFS: SIFS and the time of an ACK at the lowest
// mandatory rate, 1 Mbit/s at 2.4 GHz (10.3.2.3.7).
func (c *Config) eifsNs() int64 {
	lowest := legacy(6000, false)
	if c.Band == Band2GHz {
		lowest = legacy(1000, false)
	}
	return c.sifsNs() + lowest.ppduNs(ackBytes)
}
