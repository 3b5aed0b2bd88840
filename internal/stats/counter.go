package stats

// Counter follows a growing count. The zero value has seen nothing.
type Counter struct {
	first, last int64
	known       bool
}

// Add notes a reading of the count.
func (c *Counter) Add(v int64) {
	if !c.known {
		c.first = v
		c.known = true
	}
	c.last = v
}

// Last returns the last reading; ok is false without one.
func (c *Counter) Last() (v int64, ok bool) { return c.last, c.known }

// Growth returns the growth since the first reading or Restart; ok is false without a reading.
func (c *Counter) Growth() (v int64, ok bool) { return c.last - c.first, c.known }

// Restart lets the growth begin at the last reading.
func (c *Counter) Restart() { c.first = c.last }

// Take returns the growth and restarts it. It is zero without a reading.
func (c *Counter) Take() int64 {
	grown := c.last - c.first
	c.Restart()
	return grown
}
