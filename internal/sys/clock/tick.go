package clock

import (
	"math"
	"time"
)

// rates are those that kernel/Kconfig.hz offers.
var rates = []int{100, 250, 300, 1000}

// TickRate finds the kernel's CONFIG_HZ, which no interface of it tells: how many ticks (jiffies),
// in which it counts its timers, a second has. It is given how to read the count, of which 32 bits
// do. The count and the monotonic clock have both run since boot, the count from 300 s before the
// end of 32 bits on (INITIAL_JIFFIES of include/linux/jiffies.h): of the rates that there are it is
// the one at which they agree, and no time need pass between two readings, for which a machine may
// stand still. Only some 300 s after boot, when they agree at every rate, it waits for up to a
// second.
func TickRate(jiffies func() (uint32, error)) (int, error) {
	for {
		n, err := jiffies()
		if err != nil {
			return 0, err
		}
		if hz, clear := tickRate(n, Now()); clear {
			return hz, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// tickRate finds it from the count and the clock of one time, unless another rate would do as well.
func tickRate(jiffies uint32, now int64) (best int, clear bool) {
	const apart = 0.05 // seconds
	least := math.Inf(1)
	second := math.Inf(1)
	for _, hz := range rates {
		since := jiffies + 300*uint32(hz)
		ticks := int32(since - uint32(now/1000*int64(hz)/1_000_000)) // 32 bits, which may have wrapped
		off := math.Abs(float64(ticks)) / float64(hz)
		if off < least {
			best = hz
			second = least
			least = off
		} else {
			second = min(second, off)
		}
	}
	return best, second-least > apart
}
