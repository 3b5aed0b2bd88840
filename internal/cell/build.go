package cell

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"airtide/internal/cell/engine"
	"airtide/internal/cell/medium"
	"airtide/internal/cell/path"
	"airtide/internal/cell/queue"
)

// Build makes the world of a Config encoded as JSON, for engine.Main.
func Build(raw json.RawMessage, c engine.Callbacks) (engine.World, error) {
	var config Config
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("decoding the cell: %w", err)
	}
	return NewWorld(config, c)
}

// stations returns the station number of each terminal, and the number of radios. Terminals with a
// radio have the lowest numbers.
func (c *Config) stations() (order []int, radios int) {
	for i := range c.Terminals {
		if c.Terminals[i].Radio != nil {
			radios++
		}
	}
	radio := 0
	ethernet := radios
	for i := range c.Terminals {
		number := &radio
		if c.Terminals[i].Radio == nil {
			number = &ethernet
		}
		order = append(order, *number)
		*number++
	}
	return order, radios
}

func (w *World) makeMedium(c *Config, terminals []*Terminal, random *rand.Rand) (err error) {
	if len(terminals) == 0 {
		return nil
	}
	w.ap, err = c.AP.queue(len(terminals), w.drop)
	if err != nil {
		return err
	}
	m := medium.Config{
		Band: c.Band, Beacons: c.Beacons, BasicRatesKbps: c.BasicRatesKbps, LeaveOutVHTSIGB: c.LeaveOutVHTSIGB,
		BarAfterCollision: c.BlockAckRequest, EIFSAfterCollision: c.EIFSAfterCollision,
		RTSBytes: c.RTSBytes, AdaptiveWindows: c.AdaptiveWindows, Held: true, Rand: random,
		AP: medium.AccessPoint{
			Access: c.access(c.AP.Access), Aggregation: c.AP.Aggregation.bounds(true), Queue: w.ap,
		},
		Deliver: w.offAir, Drop: w.drop,
	}
	for _, t := range terminals {
		s := medium.Station{
			Access: c.access(t.Radio.Access), QueuePackets: t.Radio.QueuePackets,
			FrameErrorRate: t.Radio.FrameErrors,
		}
		for _, step := range t.Radio.PHY {
			s.Rates = append(s.Rates, medium.RateFrom{FromNs: step.AtNs, PHY: step.PHY})
		}
		s.Aggregation = t.Radio.Aggregation.bounds(s.Rates[0].PHY.Standard >= medium.Std11n)
		m.Stations = append(m.Stations, s)
	}
	w.medium, err = medium.New(m)
	return err
}

// access returns the access parameters of a contender, completed by the parameters that all
// contenders share.
func (c *Config) access(a Access) medium.Access {
	m := medium.Access{
		Category: a.Category, AIFSN: a.AIFSN, CWMin: a.CWMin, CWMax: a.CWMax, TXOPNs: c.TXOPNs,
		RetryLimit: c.RetryLimit,
	}
	if m.TXOPNs == 0 {
		m.TXOPNs = -1 // one exchange
	}
	return m
}

// bounds are the limits of aggregation. The medium applies those of each standard as well.
func (a Aggregation) bounds(aggregates bool) medium.Aggregation {
	if !aggregates || a.Frames == 1 {
		return medium.Aggregation{}
	}
	return medium.Aggregation{Bytes: cmp.Or(a.Bytes, math.MaxInt32), Frames: a.Frames, AirtimeNs: a.AirtimeNs}
}

// queue makes the access point's queue.
func (a *AccessPoint) queue(stations int, drop queue.Drop) (queue.Thinnable, error) {
	// mac80211's parameters (net/mac80211/tx.c, net/fq.h, include/net/fq_impl.h).
	fq := queue.FQCoDelOptions{Limit: a.Limit, Quantum: 300, DropBatch: 1, CoDel: queue.WirelessCoDel}
	makers := map[Discipline]func(queue.Drop) queue.Thinnable{
		"":   func(d queue.Drop) queue.Thinnable { return queue.NewSharedFIFO(stations, a.Limit, d) },
		FIFO: func(d queue.Drop) queue.Thinnable { return queue.NewSharedFIFO(stations, a.Limit, d) },
		FIFOPerStation: func(d queue.Drop) queue.Thinnable {
			return queue.NewRoundRobin(stations, queue.Limit{}, a.Limit, d)
		},
		FQCoDel: func(d queue.Drop) queue.Thinnable { return queue.NewFQCoDel(stations, fq, d) },
		AirtimeFair: func(d queue.Drop) queue.Thinnable {
			return queue.NewAirtimeFQCoDel(stations, fq, queue.AirtimeOptions{}, d)
		},
	}
	make, ok := makers[a.Discipline]
	if !ok {
		return nil, fmt.Errorf("the access point's discipline %q is unknown: use %s, %s, %s or %s", a.Discipline, FIFO,
			FIFOPerStation, FQCoDel, AirtimeFair)
	}
	if a.AckThinning {
		return queue.NewAckThinning(stations, drop, make), nil
	}
	return make(drop), nil
}

// pathConfig is one direction of the path, with all its changes in order of time.
func pathConfig(wire []WireStep, terminals []*Terminal, up bool) path.Config {
	c := path.Config{Lines: make([]path.Line, len(terminals)), Held: true}
	for i := range wire {
		if i == 0 {
			c.Wire = wire[0].Wire
			continue
		}
		c.Schedule = append(c.Schedule, path.Change{AtNs: wire[i].AtNs, Wire: &wire[i].Wire})
	}
	for station, t := range terminals {
		steps := t.Down
		if up {
			steps = t.Up
		}
		for i := range steps {
			if i == 0 {
				c.Lines[station] = steps[0].Line
				continue
			}
			c.Schedule = append(c.Schedule, path.Change{AtNs: steps[i].AtNs, Line: &steps[i].Line, Station: station})
		}
	}
	slices.SortStableFunc(c.Schedule, func(a, b path.Change) int { return cmp.Compare(a.AtNs, b.AtNs) })
	return c
}
