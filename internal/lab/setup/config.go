// Package setup turns the setup of a plan into the configuration of a cell.
package setup

import (
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/medium"
	"airtide/internal/cell/path"
	"airtide/internal/cell/queue"
	"airtide/internal/lab/plan"
)

// CellConfig returns the cell of a setup. The cell counts the given flows.
func CellConfig(s *plan.Setup, flows []cell.Flow, seed uint64) cell.Config {
	c := cell.Config{
		Seed: seed, Band: band(s.Band), RetryLimit: s.Cell.RetryLimit, TXOPNs: int64(s.Cell.TXOPLimit),
		BlockAckRequest: s.Cell.BlockAckRequest, EIFSAfterCollision: s.Cell.EIFSAfterCollision,
		RTSBytes: int(s.Cell.RTSThreshold), AdaptiveWindows: s.Cell.Contention == plan.Blade, Flows: flows,
		WireUp: wire(s.WireUp), WireDown: wire(s.WireDown),
		AP: cell.AccessPoint{
			Discipline: cell.Discipline(s.Cell.AP.Discipline), Limit: limit(s.Cell.AP.Queue),
			Aggregation: aggregation(s.Cell.AP.Aggregation), AckThinning: s.Cell.AP.AckThinning,
			WindowSharing: s.Cell.AP.WindowSharing, Access: access(s.Cell.AP.Access),
		},
		Engine: engineOptions(s.Cell),
	}
	c.Beacons = medium.Beacons{
		IntervalNs: int64(s.Cell.Beacons.Every), Bytes: int(s.Cell.Beacons.Size), Kbps: int(s.Cell.Beacons.Rate / 1000),
	}
	for _, r := range s.Cell.BasicRates {
		c.BasicRatesKbps = append(c.BasicRatesKbps, int(r/1000))
	}
	for _, t := range s.Terminals {
		terminal := cell.Terminal{Name: t.Name, Up: lines(t.Up), Down: lines(t.Down)}
		if t.Link == plan.WLAN {
			terminal.Radio = radio(t.Radio)
			terminal.Refuse = t.Radio.Refuses
		}
		c.Terminals = append(c.Terminals, terminal)
	}
	for _, server := range s.Servers {
		c.Servers = append(c.Servers, cell.Server{Name: server.Name})
	}
	c.Engine.Slots = slots(&c)
	return c
}

// FromFile returns the cell of a cell file.
func FromFile(f *plan.CellFile) cell.Config {
	c := CellConfig(f.Setup, nil, f.Seed)
	for i := range c.Terminals {
		c.Terminals[i].Outside = outside(f, c.Terminals[i].Name)
	}
	for i := range c.Servers {
		c.Servers[i].Outside = outside(f, c.Servers[i].Name)
	}
	return c
}

func outside(f *plan.CellFile, name string) *cell.Outside {
	o, ok := f.Outside[name]
	if !ok {
		return nil
	}
	return &cell.Outside{Interface: o.Interface, Addresses: o.Addresses, Gateway: o.Gateway, Via: o.Via}
}

// engineOptions returns the options of the engine.
func engineOptions(c plan.Cell) cell.EngineOptions {
	s := c.SuperPackets
	return cell.EngineOptions{
		Supers:   s == plan.SuperPacketsSenders || s == plan.SuperPacketsBoth,
		Coalesce: s == plan.SuperPacketsBoth, Quantum: time.Duration(c.ShortestSleep),
	}
}

func band(b plan.Band) medium.Band {
	if b == plan.Band24 {
		return medium.Band2GHz
	}
	return medium.Band5GHz
}

func limit(l plan.Limit) queue.Limit { return queue.Limit{Packets: l.Packets, Bytes: int(l.Bytes)} }

func aggregation(a plan.Aggregation) cell.Aggregation {
	return cell.Aggregation{Bytes: int(a.Bytes), Frames: a.Frames, AirtimeNs: int64(a.Airtime)}
}

var categories = map[plan.Category]medium.Category{
	plan.DCF: medium.DCF, plan.Background: medium.Background, plan.BestEffort: medium.BestEffort,
	plan.Video: medium.Video, plan.Voice: medium.Voice,
}

func access(a plan.Access) cell.Access {
	return cell.Access{Category: categories[a.Category], AIFSN: a.AIFSN, CWMin: a.CWMin, CWMax: a.CWMax}
}

func radio(r plan.RadioSetup) *cell.Radio {
	to := &cell.Radio{
		Aggregation: aggregation(r.Aggregation), QueuePackets: r.Queue.Packets, FrameErrors: float64(r.FrameErrors),
		Access: access(r.Access),
	}
	for _, s := range r.PHY {
		to.PHY = put(to.PHY, cell.PHYStep{AtNs: int64(s.At), PHY: s.PHY}, func(s cell.PHYStep) int64 { return s.AtNs })
	}
	return to
}

func wire(w plan.Wire) []cell.WireStep {
	at := func(s cell.WireStep) int64 { return s.AtNs }
	step := func(ns plan.Duration, rate plan.Rate) cell.WireStep {
		return cell.WireStep{AtNs: int64(ns), Wire: path.Wire{
			RateBps: int64(rate), Limit: limit(w.Queue), HostFair: w.HostFair,
		}}
	}
	steps := []cell.WireStep{step(0, w.Rate)}
	for _, s := range w.Steps {
		steps = put(steps, step(s.At, s.Rate), at)
	}
	return steps
}

func lines(from []plan.LineStep) []cell.LineStep {
	var steps []cell.LineStep
	for _, s := range from {
		steps = put(steps, cell.LineStep{AtNs: int64(s.At), Line: line(s.Line)}, func(s cell.LineStep) int64 {
			return s.AtNs
		})
	}
	return steps
}

// put adds a step. It replaces a step with the same time.
func put[S any](steps []S, s S, at func(S) int64) []S {
	if last := len(steps) - 1; last >= 0 && at(steps[last]) == at(s) {
		steps[last] = s
		return steps
	}
	return append(steps, s)
}

func line(l plan.Line) path.Line {
	to := path.Line{
		DelayNs: int64(l.Delay), Jitter: path.Jitter{Ns: int64(l.Jitter)}, Loss: path.Loss{Random: float64(l.Loss)},
		Reorder: path.Reorder{Share: float64(l.Reorder)}, Duplicate: float64(l.Duplicate),
	}
	if l.Spread == "normal" {
		to.Jitter.Distribution = path.Normal
	}
	if b := l.BurstLoss; b != nil {
		to.Loss.Gilbert = path.GilbertElliott{
			P: float64(b.ToBad), R: float64(b.ToGood), LossBad: float64(b.LossBad), LossGood: float64(b.LossGood),
		}
	}
	return to
}
