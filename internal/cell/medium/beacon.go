package medium

import "fmt"

// Beacons are the access point's periodic frames (11.1.3). A beacon is sent without contention at
// its time, or PIFS after the medium becomes idle. It is not acknowledged. The zero value means no
// beacons.
type Beacons struct {
	IntervalNs int64 `json:"interval_ns,omitempty"`
	// Bytes of a beacon's frame with its header and FCS. Default 250.
	Bytes int `json:"bytes,omitempty"`
	// Kbps is a rate of 802.11b or g. Default: the lowest mandatory one, 1 Mbit/s at 2.4 GHz, 6
	// Mbit/s at 5 GHz.
	Kbps int `json:"kbps,omitempty"`
}

// usualBeaconBytes is the approximate beacon size of access points with 802.11n and WPA.
const usualBeaconBytes = 250

func (b *Beacons) check(band Band) error {
	if b.IntervalNs == 0 {
		return nil
	}
	if b.IntervalNs < 1e6 || b.IntervalNs > 100e9 {
		return fmt.Errorf("beacons every %d ns: use 1 ms to 100 s", b.IntervalNs)
	}
	if b.Bytes < 0 || b.Bytes > 2304 {
		return fmt.Errorf("beacons of %d bytes: use up to 2304", b.Bytes)
	}
	if b.Kbps == 0 {
		return nil
	}
	if !ofBOrG(b.Kbps) {
		return fmt.Errorf("beacons at %d kbit/s: use a rate of 802.11b or g", b.Kbps)
	}
	if band == Band5GHz && dsss(b.Kbps) {
		return fmt.Errorf("beacons at %d kbit/s: rates of 802.11b do not exist at 5 GHz", b.Kbps)
	}
	return nil
}

// beaconing is the medium's side of beacons.
type beaconing struct {
	intervalNs int64
	airNs      int64 // airtime of one beacon
	pifsNs     int64
	nextNs     int64 // never without beacons
	failed     bool  // the frame on the air before it got no answer
}

func (c *Config) beaconing() beaconing {
	b := c.Beacons
	if b.IntervalNs == 0 {
		return beaconing{nextNs: never}
	}
	if b.Bytes == 0 {
		b.Bytes = usualBeaconBytes
	}
	if b.Kbps == 0 {
		b.Kbps = 6000
		if c.Band == Band2GHz {
			b.Kbps = 1000
		}
	}
	r := c.radio(legacy(b.Kbps, false), false)
	return beaconing{
		intervalNs: b.IntervalNs, airNs: r.frameNs(b.Bytes), pifsNs: c.sifsNs() + c.SlotNs, nextNs: b.IntervalNs,
	}
}

// beacon puts one on the air. The next comes at the next of its times, however late this one was.
func (m *Medium) beacon(startNs int64) {
	b := &m.beacons
	for b.nextNs <= startNs {
		b.nextNs += b.intervalNs
	}
	m.phase = beaconed
	m.nextNs = startNs + b.airNs
	m.counters[0].Beacons++
	m.counters[0].AirtimeNs += b.airNs
}
