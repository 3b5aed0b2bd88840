package control

import (
	"math"
	"time"
)

// A member with the key can report anything: RTTs of a minute, rates that nobody carries, the
// greatest weight. Shares, wire and correction follow from reports, so a lie can shrink the bounds
// of others. The floor does not: it follows from the terminal's own standalone rate, weight and
// delay, and from the number of terminals alone. It is applied to the bounds as the last step, so
// no earlier rule can lower it.
const (
	// floorDelay is the own delay up to which the floor is a rate: its windows hold what arrives in
	// the base RTT and the own delay. A longer queue takes more than a lie.
	floorDelay = 50 * time.Millisecond
	// leastFloorPart is the part of the floor that holds while the own packets wait longer than
	// floorDelay. Then something slow limits, such as a wire far below the standalone rates, and
	// windows of the whole floor would be its queue.
	leastFloorPart = 0.25
	// floorSettleTime is how long a queue of earlier, longer windows may stand.
	floorSettleTime = 600 * time.Millisecond
	// floorFallTime is the time constant in which the floor falls to that part, and floorRiseTime
	// the time in which it comes back. It comes back as slowly as a wire is tested again: its own
	// windows made the queue.
	floorFallTime = time.Second
	floorRiseTime = 30 * time.Second
	// A window is not full all the time: a sender waits until it can send a burst, and ACKs come in
	// bursts. So windows of the floor grow until they carry it, with the time constant
	// floorRaiseTime, by exp(mostFloorRaise) = 2 at most. They aim at floorAim times its rate: what
	// a terminal carries in some seconds varies around the aim, and is not to be below the floor.
	floorAim       = 1.05
	floorRaiseTime = time.Second
	mostFloorRaise = math.Ln2
	// leastFloorAlpha is the least fairness parameter with a floor. With a lower one the user wants
	// slow terminals to have next to nothing.
	leastFloorAlpha = 0.5
)

// FloorRate returns the rate in bit/s below which no report takes a terminal, in a cell of n
// terminals: its share if all others are greedy and have the greatest weight.
func FloorRate(standalone, weight float64, n int) float64 {
	return efficiency(n) * standalone * weight / (weight + highestWeight*float64(n-1))
}

// highestWeight is the greatest weight of a terminal (package internal/share/message).
const highestWeight = 10

// floor follows the own delay. The zero value is ready.
type floor struct {
	binds  time.Duration // time for which the floor has been the greater bound
	fallen float64       // part of the floor that does not hold, 0 to 1 - leastFloorPart
	raised float64       // logarithm of the factor of the windows, 0 to mostFloorRaise
}

// update takes a step outside probes: whether the floor was the greater bound in it, the mean RTT
// of the terminal's own flows above their base RTT, and the rate of the floor as a multiple of the
// greedy flows' rate (0 without any). A delay counts once the floor has made the windows for
// floorSettleTime. Before that the queue is one of other bounds.
func (f *floor) update(elapsed, delay time.Duration, binds bool, missed float64) {
	if !binds {
		f.binds = 0
	} else {
		f.binds += elapsed
	}
	// Other bounds that are the greater ones may carry less, too, if their windows are not full.
	if missed > 0 {
		gain := elapsed.Seconds() / floorRaiseTime.Seconds()
		f.raised = min(max(f.raised+gain*math.Log(floorAim*missed), 0), mostFloorRaise)
	}
	if f.binds >= floorSettleTime && delay > floorDelay {
		gain := min(elapsed.Seconds()/floorFallTime.Seconds(), 1)
		f.fallen += gain * (1 - leastFloorPart - f.fallen)
		return
	}
	f.fallen = max(f.fallen-elapsed.Seconds()/floorRiseTime.Seconds(), 0)
}

// part returns the part of the floor that holds.
func (f *floor) part() float64 { return 1 - f.fallen }

// factor returns the factor of the windows that carry this part.
func (f *floor) factor() float64 { return math.Exp(f.raised) }

// raise raises bounds to the windows of a rate in bit/s, divided among the flows like the share.
// wait is how long the terminal's packets wait. It reports whether any bound was lower.
func (w *windowController) raise(s windowStep, b *bounds, rate float64, wait time.Duration) (raised bool) {
	s.share = rate
	parts := w.directionShares(rate)
	bytes := func(part float64, base time.Duration) float64 { return rate * part * (base + wait).Seconds() / 8 }
	var floor bounds
	for _, one := range w.divide(s, false, parts[0]/rate, bytes) {
		floor.addSend(one)
	}
	for _, one := range w.divide(s, true, parts[1]/rate, bytes) {
		floor.addReceive(one)
	}
	// Both list the active flows in the same order.
	if len(b.send) != len(floor.send) || len(b.receive) != len(floor.receive) {
		return false
	}
	for i := range b.send {
		raised = raised || b.send[i].Packets < floor.send[i].Packets
		b.send[i].Packets = max(b.send[i].Packets, floor.send[i].Packets)
	}
	for i := range b.receive {
		raised = raised || b.receive[i].bytes < floor.receive[i].bytes
		b.receive[i].bytes = max(b.receive[i].bytes, floor.receive[i].bytes)
	}
	return raised
}
