package message

// Families says over which versions of IP a multicast datagram has to go to reach all who are known
// here. One is enough where all hear both; then it is one over which others are heard, for what
// carries theirs carries one's own. Who hears one of them alone is reached over that. While nobody
// is known it is both, so that all can be found.
func (r *Receiver) Families(nowNs int64) (four, six bool) {
	nowNs = r.look(nowNs)
	over4, over6 := false, false
	for _, s := range r.sessions {
		switch {
		case s.left() || s.silent(nowNs, r.periodNs):
		case s.both:
			over4, over6 = over4 || !s.six, over6 || s.six
		default:
			four, six = four || !s.source.Addr().Is6(), six || s.source.Addr().Is6()
		}
	}
	switch {
	case four || six:
		return four, six
	case over4 || over6:
		return over4, !over4
	}
	return true, true
}
