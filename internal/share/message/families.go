package message

// Families returns the versions of IP over which multicast reaches all known terminals. If all
// receive both, it is one version over which reports arrive here. Without known terminals it is
// both, so that any terminal can be found.
func (r *Receiver) Families(nowNs int64) (four, six bool) {
	nowNs = r.look(nowNs)
	over4 := false
	over6 := false
	for _, s := range r.sessions {
		switch {
		case s.left() || s.silent(nowNs, r.periodNs):
		case s.both:
			over4 = over4 || !s.six
			over6 = over6 || s.six
		default:
			four = four || !s.source.Addr().Is6()
			six = six || s.source.Addr().Is6()
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
