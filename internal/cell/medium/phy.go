package medium

import (
	"fmt"
	"math"
)

// Standard is a generation of the 802.11 physical layer.
type Standard uint8

// The standards. Clauses refer to IEEE 802.11-2020, for ax to IEEE 802.11ax-2021.
const (
	Std11b  Standard = iota + 1 // DSSS and HR/DSSS, clauses 15 and 16
	Std11g                      // ERP-OFDM, clause 18
	Std11a                      // OFDM, clause 17
	Std11n                      // HT, clause 19, mixed format
	Std11ac                     // VHT, clause 21
	Std11ax                     // HE, clause 27, single user
)

var standardNames = map[Standard]string{
	Std11b: "802.11b", Std11g: "802.11g", Std11a: "802.11a", Std11n: "802.11n", Std11ac: "802.11ac",
	Std11ax: "802.11ax",
}

func (s Standard) String() string { return standardNames[s] }

// aggregates reports whether the standard has A-MPDUs and QoS data frames.
func (s Standard) aggregates() bool { return s >= Std11n }

// PHY describes a terminal's data frames: standard, rate, and everything else that determines their
// duration. Legacy, MCS and AtRate make a PHY.
type PHY struct {
	Standard Standard
	RateBps  int64
	// WidthMHz of the channel, Streams in space, Index of the modulation and coding scheme per
	// stream (0 to 11) and GuardNs, the guard interval, are zero for 802.11b; Index is zero for g
	// and a too.
	WidthMHz, Streams, Index, GuardNs int
	// ShortPreamble selects the short preamble of 802.11b. It does not exist at 1 Mbit/s.
	ShortPreamble bool

	dbps          int64 // data bits per symbol
	tail          int64 // tail bits of the encoders
	symbolNs      int64
	preambleNs    int64 // preamble and header in front of the data symbols
	referenceKbps int   // the non-HT rate by which the rate of a response is found (10.6.6.5.2, table 10-10)
}

// Legacy is a rate of 802.11b, g or a.
func Legacy(s Standard, mbps float64) (PHY, error) {
	kbps := int(math.Round(mbps * 1000))
	p := PHY{Standard: s, RateBps: int64(kbps) * 1000, referenceKbps: kbps}
	switch s {
	case Std11b:
		switch kbps {
		case 1000, 2000, 5500, 11000:
			p.preambleNs = dsssPreambleNs(kbps, false)
			return p, nil
		}
		return PHY{}, fmt.Errorf("802.11b has no rate of %g Mbit/s: use 1, 2, 5.5 or 11", mbps)
	case Std11g, Std11a:
		switch kbps {
		case 6000, 9000, 12000, 18000, 24000, 36000, 48000, 54000:
			p.WidthMHz = 20
			p.Streams = 1
			p.GuardNs = 800
			p.symbolNs = ofdmSymbolNs
			p.preambleNs = ofdmPreambleNs
			p.tail = 6
			p.dbps = int64(kbps) * ofdmSymbolNs / 1e6
			return p, nil
		}
		return PHY{}, fmt.Errorf("%s has no rate of %g Mbit/s: use 6, 9, 12, 18, 24, 36, 48 or 54", s, mbps)
	}
	return PHY{}, fmt.Errorf("%s has rates by MCS, channel width and streams, not by a number of Mbit/s alone", s)
}

// A modulation and coding scheme: coded bits per subcarrier, and the code's rate.
type modulation struct{ bits, numerator, denominator, referenceKbps int }

// modulations has the order of the MCS index of VHT and HE (21.5, 27.5). HT's index modulo 8 is the
// same (19.5).
var modulations = [...]modulation{
	{1, 1, 2, 6000},
	{2, 1, 2, 12000},
	{2, 3, 4, 18000},
	{4, 1, 2, 24000},
	{4, 3, 4, 36000},
	{6, 2, 3, 48000},
	{6, 3, 4, 54000},
	{6, 5, 6, 54000},
	{8, 3, 4, 54000},
	{8, 5, 6, 54000},
	{10, 3, 4, 54000},
	{10, 5, 6, 54000},
}

// generation holds the parameters from which the rates of a standard with MCS are computed.
type generation struct {
	highestIndex, streams int
	dataSubcarriers       map[int]int // by channel width in MHz
	guardsNs              []int
	usefulNs              int // length of a symbol without its guard interval
}

var generations = map[Standard]generation{
	Std11n:  {7, 4, map[int]int{20: 52, 40: 108}, []int{800, 400}, 3200},
	Std11ac: {9, 8, map[int]int{20: 52, 40: 108, 80: 234, 160: 468}, []int{800, 400}, 3200},
	Std11ax: {11, 8, map[int]int{20: 234, 40: 468, 80: 980, 160: 1960}, []int{800, 1600, 3200}, 12800},
}

// MCS is a rate of 802.11n, ac or ax: index is the scheme per stream, from 0 to 7 (n), 9 (ac) or 11
// (ax).
func MCS(s Standard, widthMHz, streams, index, guardNs int) (PHY, error) {
	g, ok := generations[s]
	if !ok {
		return PHY{}, fmt.Errorf("%s has no MCS: name its rate in Mbit/s", s)
	}
	subcarriers, ok := g.dataSubcarriers[widthMHz]
	if !ok {
		return PHY{}, fmt.Errorf("%s has no channel of %d MHz", s, widthMHz)
	}
	if index < 0 || index > g.highestIndex {
		return PHY{}, fmt.Errorf("%s has no MCS %d: use 0 to %d (per stream)", s, index, g.highestIndex)
	}
	if streams < 1 || streams > g.streams {
		return PHY{}, fmt.Errorf("%s has no %d streams: use 1 to %d", s, streams, g.streams)
	}
	known := false
	for _, ns := range g.guardsNs {
		known = known || ns == guardNs
	}
	if !known {
		return PHY{}, fmt.Errorf("%s has no guard interval of %d ns: use one of %v", s, guardNs, g.guardsNs)
	}
	m := modulations[index]
	coded := subcarriers * m.bits * streams
	if s == Std11ac && (coded*m.numerator%m.denominator != 0 || vhtExcluded(widthMHz, streams, index)) {
		return PHY{}, fmt.Errorf("802.11ac has no MCS %d at %d MHz with NSS %d", index, widthMHz, streams)
	}
	p := PHY{
		Standard: s, WidthMHz: widthMHz, Streams: streams, Index: index, GuardNs: guardNs,
		dbps: int64(coded * m.numerator / m.denominator), symbolNs: int64(g.usefulNs + guardNs),
		referenceKbps: m.referenceKbps,
	}
	p.RateBps = p.dbps * 1e9 / p.symbolNs
	p.preambleNs = mcsPreambleNs(s, streams, guardNs)
	switch s {
	case Std11n: // one convolutional encoder up to 300 Mbit/s
		p.tail = 6
		if p.RateBps > 300e6 {
			p.tail = 12
		}
	case Std11ac: // one encoder for each 600 Mbit/s at short guard interval
		p.tail = 6 * ((p.dbps + 2159) / 2160)
	}
	return p, nil
}

// vhtExcluded are the combinations that the tables of 21.5 leave out although their bits per symbol
// are whole.
func vhtExcluded(widthMHz, streams, index int) bool {
	switch widthMHz {
	case 80:
		return index == 6 && (streams == 3 || streams == 7) || index == 9 && streams == 6
	case 160:
		return index == 9 && streams == 3
	}
	return false
}

// AtRate finds the rate of a standard that is nearest to a number of Mbit/s as it is usually
// printed (72.2, 866.7). Width and streams of zero stand for any; of several ways to a rate it
// takes the one with fewest streams, then the narrowest channel, then the highest index.
func AtRate(s Standard, widthMHz, streams int, mbps float64) (PHY, error) {
	g, ok := generations[s]
	if !ok {
		return Legacy(s, mbps)
	}
	for n := 1; n <= g.streams; n++ {
		for _, width := range []int{20, 40, 80, 160} {
			if streams != 0 && n != streams || widthMHz != 0 && width != widthMHz {
				continue
			}
			for index := g.highestIndex; index >= 0; index-- {
				for _, guard := range g.guardsNs {
					// An MCS that the standard does not define is no candidate.
					p, err := MCS(s, width, n, index, guard)
					if err == nil && math.Abs(float64(p.RateBps)/1e6-mbps) < 0.06 {
						return p, nil
					}
				}
			}
		}
	}
	return PHY{}, fmt.Errorf("%s has no rate of %g Mbit/s with this channel width and number of streams", s, mbps)
}

// WithShortPreamble is an 802.11b rate with the short preamble (16.2.2.3).
func (p PHY) WithShortPreamble() PHY {
	if p.Standard == Std11b && p.RateBps > 1e6 {
		p.ShortPreamble = true
		p.preambleNs = dsssPreambleNs(p.referenceKbps, true)
	}
	return p
}

// Mbps is the rate in Mbit/s.
func (p PHY) Mbps() float64 { return float64(p.RateBps) / 1e6 }
