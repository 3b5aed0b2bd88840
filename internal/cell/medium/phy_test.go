package medium

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestRatesAreThoseOfTheStandard(t *testing.T) {
	for _, c := range []struct {
		name string
		phy  PHY
		mbps float64
	}{
		{"HT20 MCS7, long guard interval", must(MCS(Std11n, 20, 1, 7, 800)), 65},
		{"HT20 MCS7, short guard interval", must(MCS(Std11n, 20, 1, 7, 400)), 72.2},
		{"HT40 MCS7, short guard interval", must(MCS(Std11n, 40, 1, 7, 400)), 150},
		{"HT40 MCS7, 4 streams", must(MCS(Std11n, 40, 4, 7, 400)), 600},
		{"VHT80 MCS9", must(MCS(Std11ac, 80, 1, 9, 400)), 433.3},
		{"VHT80 MCS9, 2 streams", must(MCS(Std11ac, 80, 2, 9, 400)), 866.7},
		{"VHT160 MCS9, 8 streams", must(MCS(Std11ac, 160, 8, 9, 400)), 6933.3},
		{"HE80 MCS11", must(MCS(Std11ax, 80, 1, 11, 800)), 600.5},
		{"HE160 MCS11, 2 streams", must(MCS(Std11ax, 160, 2, 11, 800)), 2401.9},
		{"HE20 MCS0, longest guard interval", must(MCS(Std11ax, 20, 1, 0, 3200)), 7.3},
		{"11 Mbit/s", must(Legacy(Std11b, 11)), 11},
	} {
		if math.Abs(c.phy.Mbps()-c.mbps) > 0.06 {
			t.Errorf("%s: %.2f Mbit/s, want %g", c.name, c.phy.Mbps(), c.mbps)
		}
	}
}

func TestRateIsFoundByItsNumber(t *testing.T) {
	for _, c := range []struct {
		standard                    Standard
		width, streams              int
		mbps                        float64
		wantWidth, wantStr, wantIdx int
	}{
		{Std11n, 0, 0, 72.2, 20, 1, 7},
		{Std11n, 0, 0, 150, 40, 1, 7},
		{Std11ac, 80, 0, 866.7, 80, 2, 9},
		{Std11ac, 0, 0, 866.7, 160, 1, 9},
		{Std11n, 20, 1, 65, 20, 1, 7},
	} {
		p, err := AtRate(c.standard, c.width, c.streams, c.mbps)
		if err != nil || p.WidthMHz != c.wantWidth || p.Streams != c.wantStr || p.Index != c.wantIdx {
			t.Errorf("%s at %g: %d MHz, %d streams, MCS %d, error %v", c.standard, c.mbps, p.WidthMHz, p.Streams,
				p.Index, err)
		}
	}
}

func TestImpossiblePHYIsRefused(t *testing.T) {
	for name, make := range map[string]func() (PHY, error){
		"rate that b does not have":       func() (PHY, error) { return Legacy(Std11b, 54) },
		"rate that g does not have":       func() (PHY, error) { return Legacy(Std11g, 11) },
		"n by rate without MCS":           func() (PHY, error) { return Legacy(Std11n, 65) },
		"a with MCS":                      func() (PHY, error) { return MCS(Std11a, 20, 1, 7, 800) },
		"n at 80 MHz":                     func() (PHY, error) { return MCS(Std11n, 80, 1, 7, 800) },
		"n with MCS 9":                    func() (PHY, error) { return MCS(Std11n, 20, 1, 9, 800) },
		"n with 5 streams":                func() (PHY, error) { return MCS(Std11n, 20, 5, 7, 800) },
		"n with HE's guard interval":      func() (PHY, error) { return MCS(Std11n, 20, 1, 7, 1600) },
		"VHT20 MCS9, one stream":          func() (PHY, error) { return MCS(Std11ac, 20, 1, 9, 400) },
		"VHT80 MCS6, three streams":       func() (PHY, error) { return MCS(Std11ac, 80, 3, 6, 400) },
		"rate that ac does not have":      func() (PHY, error) { return AtRate(Std11ac, 80, 1, 500) },
		"standard that is not a thing":    func() (PHY, error) { return AtRate(0, 0, 0, 54) },
		"rate of another channel's width": func() (PHY, error) { return AtRate(Std11n, 20, 1, 150) },
	} {
		if p, err := make(); err == nil {
			t.Errorf("%s: accepted as %+v", name, p)
		}
	}
}

// The durations are worked out by hand from the formulas of the standard's TXTIME clauses.
func TestFramesTakeTheTimeOfTheStandard(t *testing.T) {
	at5 := &Config{Band: Band5GHz, SlotNs: 9000}
	at2 := &Config{Band: Band2GHz, SlotNs: 9000}
	ns3 := &Config{Band: Band5GHz, SlotNs: 9000, LeaveOutVHTSIGB: true}
	b11 := must(Legacy(Std11b, 11))
	for _, c := range []struct {
		name    string
		config  *Config
		phy     PHY
		bytes   int
		wantUs  float64
		ackUs   float64
		blockUs float64
	}{
		// 22 + 8*1534 bits in symbols of 216: 57 symbols; ACK at 24: 134 bits in symbols of 96.
		{"g at 54", at2, must(Legacy(Std11g, 54)), 1534, 20 + 57*4 + 6, 20 + 8 + 6, 20 + 12 + 6},
		{"a at 54", at5, must(Legacy(Std11a, 54)), 1534, 20 + 57*4, 28, 32},
		{"a at 6", at5, must(Legacy(Std11a, 6)), 14, 44, 44, 20 + 48},
		{"a at 9, answered at 6", at5, must(Legacy(Std11a, 9)), 14, 20 + 4*4, 44, 68},
		// 1534*8 bits at 11 Mbit/s are 1115.6 us.
		{"b at 11, long preamble", at2, b11, 1534, 192 + 1116, 192 + 11, 192 + 24},
		{"b at 11, short preamble", at2, b11.WithShortPreamble(), 1534, 96 + 1116, 96 + 11, 96 + 24},
		{
			"b at 1 has no short preamble", at2, must(Legacy(Std11b, 1)).WithShortPreamble(), 14, 192 + 112, 304,
			192 + 256,
		},
		// 22 + 8*1536 bits in symbols of 260: 48, of 3.6 us: 172.8, rounded up to 176.
		{"HT20 MCS7 short guard", at5, must(MCS(Std11n, 20, 1, 7, 400)), 1536, 36 + 176, 28, 32},
		{"HT20 MCS7 long guard at 2.4 GHz", at2, must(MCS(Std11n, 20, 1, 7, 800)), 1536, 36 + 192 + 6, 28 + 6, 32 + 6},
		{"HT20 MCS0, answered at 6", at5, must(MCS(Std11n, 20, 1, 0, 800)), 100, 36 + 4*32, 44, 68},
		// Two training fields; 16 + 8*64680 + 12 bits in symbols of 3120: 166, of 3.6 us: 597.6,
		// rounded up to 600.
		{"VHT80 MCS9, 2 streams", at5, must(MCS(Std11ac, 80, 2, 9, 400)), 64680, 44 + 600, 28, 32},
		{"the same without VHT-SIG-B", ns3, must(MCS(Std11ac, 80, 2, 9, 400)), 64680, 40 + 600, 28, 32},
		{"HT, 3 streams need 4 training fields", at5, must(MCS(Std11n, 20, 3, 7, 800)), 94, 48 + 4, 28, 32},
		// 16 + 8*1540 bits in symbols of 8166 (980 subcarriers, 10 bits, 5/6): 2 of 13.6 us; one
		// training field of 7.2.
		{"HE80 MCS11", at5, must(MCS(Std11ax, 80, 1, 11, 800)), 1540, 36 + 7.2 + 27.2, 28, 20 + 20},
	} {
		r := c.config.radio(c.phy, true)
		for _, d := range []struct {
			what string
			got  int64
			want float64
		}{{"frame", r.frameNs(c.bytes), c.wantUs}, {"ACK", r.ackNs, c.ackUs}, {"BlockAck", r.blockAckNs, c.blockUs}} {
			if float64(d.got) != d.want*1000 {
				t.Errorf("%s: %s %d ns, want %g us", c.name, d.what, d.got, d.want)
			}
		}
	}
}

func TestBasicRatesSetTheAnswersRate(t *testing.T) {
	for _, c := range []struct {
		basic  []int
		mbps   float64
		wantUs int64
	}{
		{nil, 54, 28},
		{[]int{6000}, 54, 44},
		{[]int{6000, 12000}, 54, 32},
		{[]int{6000, 54000}, 54, 24},
		{[]int{6000, 54000}, 48, 44},
		{[]int{1000, 2000}, 54, 28}, // none of OFDM: its mandatory rates
	} {
		config := &Config{Band: Band5GHz, SlotNs: 9000, BasicRatesKbps: c.basic}
		r := config.radio(must(Legacy(Std11a, c.mbps)), false)
		if r.ackNs != c.wantUs*1000 {
			t.Errorf("basic rates %v, data at %g: ACK of %d ns, want %d us", c.basic, c.mbps, r.ackNs, c.wantUs)
		}
	}
}

func TestLongestFrameInATimeIsTheLongest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	phys := []PHY{
		must(Legacy(Std11b, 5.5)), must(Legacy(Std11b, 11)), must(Legacy(Std11g, 54)), must(MCS(Std11n, 20, 1, 7, 400)),
		must(MCS(Std11n, 40, 4, 7, 400)), must(MCS(Std11ac, 80, 2, 9, 400)), must(MCS(Std11ax, 80, 1, 11, 800)),
	}
	for range 2000 {
		p := phys[r.IntN(len(phys))]
		ns := p.preambleNs + 50000 + r.Int64N(longestPPDUNs)
		bytes := p.bytesIn(ns)
		if p.ppduNs(bytes) > ns || p.ppduNs(bytes+1) <= ns {
			t.Fatalf("%s at %.1f: %d bytes in %d ns take %d ns, one more %d ns", p.Standard, p.Mbps(), bytes, ns,
				p.ppduNs(bytes), p.ppduNs(bytes+1))
		}
	}
	p := must(MCS(Std11n, 20, 1, 7, 400))
	if p.bytesIn(1000) != 0 {
		t.Error("a frame fits in less time than its preamble")
	}
}
