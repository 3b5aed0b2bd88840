package medium

import "math"

// contention keeps one contention window for all contenders, by how busy the medium is. It is a
// reconstruction of BLADE (Guo et al., arXiv 2603.16119): there each transmitter adapts its window
// to the share of transmissions among the idle slots and transmissions that it hears. Here all hear
// the same, so they share one estimate. The constants of the paper were not to be had.
type contention struct {
	window        float64 // in slots, from leastWindow on
	slots         int64   // idle slots heard since the last change
	transmissions int64   // heard since then
	most          float64 // bound of the window
}

const (
	// targetShare is the wanted share of transmissions among idle slots and transmissions. At 0.1
	// idle slots and collisions of PPDUs of 1 ms cost about the same.
	targetShare = 0.1
	// changeAfter is the number of transmissions between two changes of the window. The share is
	// estimated from them: with fewer, chance would move the window; with many more, it would
	// follow a change of the load too late.
	changeAfter = 16
	// leastWindow is CWmin of best effort. Below it, stations would be bolder than the standard
	// permits.
	leastWindow = 15
)

// heard counts a transmission, or several that collide, after idle slots. Fewer transmissions than
// wanted shrink the window, more widen it: half way in proportion, so that it does not swing.
func (c *contention) heard(idleSlots int64) {
	c.slots += max(idleSlots, 0)
	c.transmissions++
	if c.transmissions < changeAfter {
		return
	}
	share := float64(c.transmissions) / float64(c.transmissions+c.slots)
	c.window = min(max(c.window*math.Sqrt(share/targetShare), leastWindow), c.most)
	c.slots = 0
	c.transmissions = 0
}
