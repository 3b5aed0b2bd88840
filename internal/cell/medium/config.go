package medium

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"airtide/internal/cell/queue"
)

// Config describes a medium. A zero field has the default named at the field.
type Config struct {
	Band Band
	// SlotNs is the slot time. Default: 9 us, and 20 us when a terminal is 802.11b.
	SlotNs int64
	// BasicRatesKbps are the rates that all terminals understand, at which control frames are sent.
	// Default: the mandatory rates of DSSS and OFDM (1, 2, 5.5, 11; 6, 12, 24 Mbit/s).
	BasicRatesKbps []int
	Beacons        Beacons
	// LeaveOutVHTSIGB makes 802.11ac preambles 4 us shorter than in the standard, as in ns-3.
	LeaveOutVHTSIGB bool
	// BarAfterCollision makes the sender of an unanswered A-MPDU send a BlockAckReq at its next
	// access instead of the frames. ns-3 does so; most devices do not.
	BarAfterCollision bool
	// EIFSAfterCollision: the others recognise a collided frame as a frame, and wait for EIFS.
	// Without it they sense energy only, as receivers do that need some 4 dB more of one preamble
	// than of the rest to lock on it.
	EIFSAfterCollision bool

	// RTSBytes is the length of a PSDU in bytes beyond which RTS and CTS precede it. Contenders
	// whose RTS collide then lose the time of an RTS instead of a PPDU. Zero: no RTS.
	RTSBytes int

	// AdaptiveWindows keeps one contention window for all contenders that follows how busy the
	// medium is, in place of windows that double after a collision.
	AdaptiveWindows bool

	AP       AccessPoint
	Stations []Station
	// Held keeps every station at its first rate until Begin; the times of the others then count
	// from there.
	Held bool

	// Rand is the source of back-offs and frame errors.
	Rand *rand.Rand
	// Deliver takes a packet that has crossed the medium: at the access point if it went up, else
	// at its station.
	Deliver func(p *queue.Packet, atNs int64)
	// Drop takes a packet that a station's queue did not take or that the medium gave up.
	Drop func(p *queue.Packet, at queue.Place, atNs int64)
	// Room is called when a full station queue has room again. It may be nil.
	Room func(station int, atNs int64)
}

// AccessPoint is one contender among all.
type AccessPoint struct {
	Access      Access
	Aggregation Aggregation
	// Queue holds the packets towards the stations. It reports drops to its own callback.
	Queue queue.Discipline
}

// Station is a terminal.
type Station struct {
	// Rates are the rates over time in both directions. The first one applies from time zero.
	Rates       []RateFrom
	Access      Access
	Aggregation Aggregation
	// QueuePackets is the limit of the terminal's queue, without the frames that are on the air.
	// Zero: no limit.
	QueuePackets int
	// FrameErrorRate is the probability (0 to below 1) that a data frame (an MPDU of an A-MPDU)
	// without collision is lost, in either direction.
	FrameErrorRate float64
}

// RateFrom is a PHY that holds from a time on.
type RateFrom struct {
	FromNs int64
	PHY    PHY
}

// MostFrames is the largest A-MPDU of any standard, in frames: a BlockAck agreement of 802.11ax.
const MostFrames = 256

// Aggregation limits A-MPDUs. The zero value means no aggregation. The limits of the standard and
// the longest PPDU always apply. A single frame is always allowed.
type Aggregation struct {
	Bytes     int   // greatest A-MPDU with delimiters and padding. Zero: no aggregation
	Frames    int   // zero: as many as a BlockAck agreement holds (64; 802.11ax 256)
	AirtimeNs int64 // longest PPDU. Zero: 5.484 ms
}

func (c *Config) prepare() error {
	if len(c.Stations) == 0 {
		return errors.New("a cell needs at least one station")
	}
	if c.Rand == nil || c.Deliver == nil || c.Drop == nil {
		return errors.New("a medium needs a source of randomness and the callbacks for delivery and for drops")
	}
	if c.AP.Queue == nil {
		return errors.New("the access point has no queue: name a discipline")
	}
	withB := false
	for i := range c.Stations {
		if err := c.Stations[i].check(c.Band); err != nil {
			return fmt.Errorf("station %d: %w", i, err)
		}
		withB = withB || c.Stations[i].standard() == Std11b
	}
	for _, kbps := range c.BasicRatesKbps {
		if !ofBOrG(kbps) {
			return fmt.Errorf("%d kbit/s is no basic rate: use rates of 802.11b or g", kbps)
		}
	}
	if err := c.Beacons.check(c.Band); err != nil {
		return err
	}
	if c.RTSBytes < 0 {
		return fmt.Errorf("RTS from %d bytes on: use 0 or more", c.RTSBytes)
	}
	if c.SlotNs < 0 || c.SlotNs > 100e3 {
		return fmt.Errorf("a slot of %d ns: use 9000 or 20000", c.SlotNs)
	}
	if c.SlotNs == 0 {
		c.SlotNs = 9000
		if withB {
			c.SlotNs = 20000
		}
	}
	if err := c.AP.Access.check(); err != nil {
		return fmt.Errorf("access point: %w", err)
	}
	if err := c.AP.Aggregation.check(); err != nil {
		return fmt.Errorf("access point: %w", err)
	}
	return nil
}

func (s *Station) standard() Standard { return s.Rates[0].PHY.Standard }

func (s *Station) check(band Band) error {
	if len(s.Rates) == 0 {
		return errors.New("it has no PHY rate")
	}
	for i, r := range s.Rates {
		if r.PHY.RateBps <= 0 {
			return errors.New("a PHY rate is empty: make it by Legacy, MCS or AtRate")
		}
		if r.PHY.Standard != s.standard() {
			return fmt.Errorf("its rates are of %s and of %s: use one standard", s.standard(), r.PHY.Standard)
		}
		if i > 0 && r.FromNs <= s.Rates[i-1].FromNs {
			return fmt.Errorf("its rate from %d ns on does not follow the one from %d ns on: put them in order of time",
				r.FromNs, s.Rates[i-1].FromNs)
		}
		switch std := s.standard(); {
		case band == Band2GHz && (std == Std11a || std == Std11ac):
			return fmt.Errorf("%s does not exist at 2.4 GHz", std)
		case band == Band5GHz && (std == Std11b || std == Std11g):
			return fmt.Errorf("%s does not exist at 5 GHz", std)
		case band == Band2GHz && r.PHY.WidthMHz > 40:
			return fmt.Errorf("a channel of %d MHz does not fit at 2.4 GHz", r.PHY.WidthMHz)
		}
	}
	if s.FrameErrorRate < 0 || s.FrameErrorRate >= 1 {
		return fmt.Errorf("a frame error rate of %g: use 0 to below 1", s.FrameErrorRate)
	}
	if s.QueuePackets < 0 {
		return fmt.Errorf("a queue of %d packets: use 1 or more, or 0 for no limit", s.QueuePackets)
	}
	if s.Aggregation.Bytes > 0 && !s.standard().aggregates() {
		return fmt.Errorf("%s has no A-MPDUs: leave aggregation out", s.standard())
	}
	if err := s.Access.check(); err != nil {
		return err
	}
	return s.Aggregation.check()
}

func (a *Aggregation) check() error {
	if a.Bytes < 0 || a.Frames < 0 || a.AirtimeNs < 0 {
		return fmt.Errorf("aggregation of %d bytes, %d frames, %d ns: negative limits mean nothing", a.Bytes, a.Frames,
			a.AirtimeNs)
	}
	return nil
}

// frames is the most frames in one transmission to or from a terminal of a standard.
func (a *Aggregation) frames(s Standard) int {
	if a.Bytes == 0 || !s.aggregates() {
		return 1
	}
	most := windowOf(s)
	if a.Frames > 0 {
		most = min(most, a.Frames)
	}
	return most
}

// bytes is the longest A-MPDU that a radio may send under the limits.
func (a *Aggregation) bytes(r *radio) int {
	most := r.airtimeBytes
	if a.Bytes == 0 {
		return most
	}
	switch r.Standard {
	case Std11n:
		most = min(most, htMaxAMPDU)
	case Std11ac:
		most = min(most, vhtMaxAMPDU)
	case Std11ax:
		most = min(most, heMaxAMPDU)
	}
	if a.AirtimeNs > 0 {
		most = min(most, r.bytesIn(a.AirtimeNs-r.extensionNs))
	}
	return min(most, a.Bytes)
}

func windowOf(s Standard) int {
	if s == Std11ax {
		return windowHE
	}
	return window
}
