package medium

// meanFrames returns the mean number of frames in a data PPDU, or 0 without PPDUs.
func meanFrames(c *Counters) float64 {
	if c.PPDUs == 0 {
		return 0
	}
	return float64(c.Frames) / float64(c.PPDUs)
}

// collidedShare is the share of the contender's frames on the air that collided.
func collidedShare(c *Counters) float64 {
	if c.PPDUs+c.BlockAckReqs == 0 {
		return 0
	}
	return float64(c.Collisions) / float64(c.PPDUs+c.BlockAckReqs)
}
