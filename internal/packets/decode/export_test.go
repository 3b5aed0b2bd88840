package decode

// Waiting is the number of datagrams that wait for fragments.
func (d *Decoder) Waiting() int { return len(d.fragments.waiting) }
