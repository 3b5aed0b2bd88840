package simulate

import (
	"math"
	"time"
)

// cubic is the congestion window of a sender with CUBIC (RFC 9438) and the HyStart of Linux, in
// packets. Fast recovery is one step: the window falls at once, and no other loss counts until all
// packets in flight at that time are acknowledged.
type cubic struct {
	cwnd, ssthresh float64
	greatest       float64       // window at the last loss, W_max
	epoch          time.Duration // start of the present congestion avoidance; 0 without one
	origin, takes  float64       // window, and seconds until it, in this epoch
	friendly       float64       // window of Reno with the same losses
	recovered      int           // number of the packet with which fast recovery ends

	roundEnd           int           // number of the packet with which the present round trip ends
	roundRTT, leastRTT time.Duration // least RTTs of the round trip and of the connection
	roundSamples       int
	slowStartEnds      bool
}

// Constants of RFC 9438 and of HyStart in Linux.
const (
	cubicScale    = 0.4
	cubicDecrease = 0.7
	cubicFriendly = 3 * (1 - cubicDecrease) / (1 + cubicDecrease)

	hystartSamples            = 8
	hystartMin, hystartMax    = 4 * time.Millisecond, 16 * time.Millisecond
	hystartWindow             = 16
	leastCubicWindow, restart = 2, 1
)

func newCubic() cubic { return cubic{cwnd: initialWindow, ssthresh: math.Inf(1)} }

// acknowledged takes an acknowledgement of n packets, up to number acked of those sent. limited
// says that the congestion window, and no other, holds the sender.
func (c *cubic) acknowledged(now time.Duration, n, acked, sent int, rtt time.Duration, limited bool) {
	c.round(acked, sent, rtt)
	if !limited || acked <= c.recovered {
		return
	}
	if c.cwnd < c.ssthresh {
		if c.slowStartEnds && c.cwnd >= hystartWindow {
			c.ssthresh = c.cwnd
			return
		}
		c.cwnd = min(c.cwnd+float64(n), c.ssthresh)
		return
	}
	if c.epoch == 0 {
		c.epoch = now
		c.friendly = c.cwnd
		c.origin = max(c.greatest, c.cwnd)
		c.takes = 0
		if c.cwnd < c.greatest {
			c.takes = math.Cbrt((c.greatest - c.cwnd) / cubicScale)
		}
	}
	t := (now - c.epoch + c.leastRTT).Seconds() - c.takes
	target := min(max(c.origin+cubicScale*t*t*t, c.cwnd), 1.5*c.cwnd)
	c.friendly += cubicFriendly * float64(n) / c.cwnd
	c.cwnd = max(c.cwnd+(target-c.cwnd)*float64(n)/c.cwnd, c.friendly)
}

// round looks for the end of slow start, by HyStart: queues make the RTT of a round trip longer.
func (c *cubic) round(acked, sent int, rtt time.Duration) {
	if rtt == 0 {
		return
	}
	if c.leastRTT == 0 || rtt < c.leastRTT {
		c.leastRTT = rtt
	}
	if acked > c.roundEnd {
		c.roundEnd = sent
		c.roundRTT = 0
		c.roundSamples = 0
	}
	if c.roundSamples < hystartSamples {
		c.roundSamples++
		if c.roundRTT == 0 || rtt < c.roundRTT {
			c.roundRTT = rtt
		}
		return
	}
	c.slowStartEnds = c.roundRTT >= c.leastRTT+min(max(c.leastRTT/8, hystartMin), hystartMax)
}

// lost takes the loss of a packet; sent is the number of the newest packet.
func (c *cubic) lost(number, sent int) {
	if number <= c.recovered {
		return
	}
	c.recovered = sent
	c.shrink()
	c.cwnd = c.ssthresh
}

// timeout begins again with one packet.
func (c *cubic) timeout(sent int) {
	c.shrink()
	c.cwnd = restart
	c.recovered = 0
	c.roundEnd = sent
}

// shrink sets ssthresh after a loss. A window that did not reach the last maximum leaves room.
func (c *cubic) shrink() {
	if c.cwnd < c.greatest {
		c.greatest = c.cwnd * (1 + cubicDecrease) / 2
	} else {
		c.greatest = c.cwnd
	}
	c.ssthresh = max(c.cwnd*cubicDecrease, leastCubicWindow)
	c.epoch = 0
	c.slowStartEnds = false
}

// bound keeps the window between two bounds, as the congestion control cubic_bound does: at the
// upper one no epoch runs.
func (c *cubic) bound(least, most float64) {
	if bounded := max(min(c.cwnd, most), least); bounded != c.cwnd {
		c.cwnd = bounded
		c.epoch = 0
	}
}
