package queue

// AirtimeOptions are the parameters of fair airtime. A zero field has its default.
type AirtimeOptions struct {
	// QuantumNs is the airtime that a station is given in each round. Default 256 us, mac80211's
	// weight.
	QuantumNs int64
	// Weights of the stations; nil makes all equal to 1.
	Weights []float64
	// ActiveNs is the time for which a station without packets still counts as active, so that its
	// own transmissions are charged and paid back. Default 100 ms, as in mac80211. Without this
	// rule a station that only sends would owe airtime without limit.
	ActiveNs int64
}

// airtimeTurns shares airtime between stations by deficit round robin (Hoiland-Jorgensen et al.,
// Ending the Anomaly, USENIX ATC 2017, section 3.2; net/mac80211/tx.c, ieee80211_next_txq). A
// station may send while its deficit is positive. It is charged for transmissions in both
// directions and goes to the end of the list with a new quantum when its deficit is used up. A
// station that was idle without debt goes first for one round. A station with debt stays in the
// rounds until it has paid, with or without packets.
type airtimeTurns struct {
	waiting  *ledger
	activeNs int64
	stations []airtimeStation
	new, old stationList
	nowNs    int64 // the latest time heard of
}

type airtimeStation struct {
	quantumNs, deficitNs int64
	activeNs             int64 // when something last waited for it
	listed               bool
}

func newAirtimeTurns(waiting *ledger, o AirtimeOptions) *airtimeTurns {
	if o.QuantumNs == 0 {
		o.QuantumNs = 256e3
	}
	if o.ActiveNs == 0 {
		o.ActiveNs = 100e6
	}
	n := len(waiting.stations)
	links := make([]int32, n)
	t := &airtimeTurns{
		waiting: waiting, activeNs: o.ActiveNs, stations: make([]airtimeStation, n),
		new: newStationList(links), old: newStationList(links),
	}
	for i := range t.stations {
		quantum := o.QuantumNs
		if o.Weights != nil {
			quantum = max(1, int64(float64(quantum)*o.Weights[i]))
		}
		t.stations[i] = airtimeStation{quantumNs: quantum, deficitNs: quantum, activeNs: -o.ActiveNs - 1}
	}
	return t
}

func (t *airtimeTurns) active(s *airtimeStation) bool { return t.nowNs-s.activeNs <= t.activeNs }

func (t *airtimeTurns) arrived(station int, nowNs int64) {
	t.nowNs = nowNs
	s := &t.stations[station]
	s.activeNs = nowNs
	if !s.listed {
		s.listed = true
		t.new.push(station)
	}
}

func (t *airtimeTurns) turn(nowNs int64) (station int, ok bool) {
	t.nowNs = nowNs
	// Every station with packets is in a list, so the loop terminates.
	for t.waiting.Len() > 0 {
		l := &t.new
		if l.empty() {
			l = &t.old
		}
		first := int(l.first)
		s := &t.stations[first]
		switch {
		case s.deficitNs <= 0:
			s.deficitNs += s.quantumNs
			t.old.push(l.pop())
		case t.waiting.LenOf(first) > 0:
			s.activeNs = nowNs
			return first, true
		case l == &t.new:
			t.old.push(l.pop())
		default:
			s.listed = false
			l.pop()
		}
	}
	return 0, false
}

func (t *airtimeTurns) popping(station int, nowNs int64) {
	t.nowNs = nowNs
	t.stations[station].activeNs = nowNs
}

func (t *airtimeTurns) charge(station int, airtimeNs int64) {
	s := &t.stations[station]
	if t.waiting.LenOf(station) == 0 && !t.active(s) {
		return
	}
	s.deficitNs -= airtimeNs
	if s.deficitNs <= 0 && !s.listed {
		s.listed = true
		t.old.push(station)
	}
}
