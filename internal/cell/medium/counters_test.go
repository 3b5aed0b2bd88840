package medium

import "testing"

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

// Frames that do not collide make the medium busy for their time and that of their answers.
func TestBusyTimeOfOneSender(t *testing.T) {
	w := newWorld(t, Config{Stations: []Station{saturated(ac866, Aggregation{})}}, 1, 600)
	w.up = true
	w.start()
	w.measure(1e9, 2e9)
	c := w.m.Station(0)
	radio := w.m.radioAt(0, 2e9)
	want := c.AirtimeNs + c.PPDUs*(w.m.sifsNs+radio.ackNs)
	exchange := want / c.PPDUs
	if got := w.m.BusyNs(2e9); got < want-exchange || got > want+exchange {
		t.Errorf("busy for %d ns, want %d within %d: %d PPDUs", got, want, exchange, c.PPDUs)
	}
}

// Frames that collide make the medium busy once.
func TestBusyTimeOfCollisions(t *testing.T) {
	config := Config{}
	for range 10 {
		config.Stations = append(config.Stations, saturated(ac866, Aggregation{Bytes: 1 << 20}))
	}
	w := newWorld(t, config, 1, 600)
	w.up = true
	w.start()
	w.measure(1e9, 2e9)
	sum := int64(0)
	collisions := int64(0)
	for i := range config.Stations {
		sum += w.m.Station(i).AirtimeNs
		collisions += w.m.Station(i).Collisions
	}
	if got := w.m.BusyNs(2e9); collisions == 0 || got >= 1e9 || got >= sum || got < 8e8 {
		t.Errorf("busy for %d ns of a second, with frames of %d ns and %d collisions", got, sum, collisions)
	}
}
