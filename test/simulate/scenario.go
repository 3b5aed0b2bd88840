package simulate

import (
	"fmt"
	"sync"
	"time"

	"airtide/internal/cell/medium"
	"airtide/internal/share/control"
	"airtide/internal/share/message"
)

// Scenario describes a cell whose medium has every frame, to be run with and without agents. The
// same scenario gives the same result.
type Scenario struct {
	Seed     uint64
	Band     medium.Band
	Stations []ScenarioStation
	// WireBps is the capacity behind the access point each way; 0 is without limit.
	WireBps float64
	// Delay is the delay behind the access point, each way.
	Delay time.Duration
	// APQueue is the queue of the access point, in packets; 0 is 1000.
	APQueue int
	// ReportLoss is the part of the reports that a terminal does not hear.
	ReportLoss float64
	// Survey: radios tell how busy the channel is, once a second.
	Survey bool
	// SingleFrames says that no radio has A-MPDUs.
	SingleFrames bool
	// Aggregation limits A-MPDUs; the zero value is without limit.
	Aggregation medium.Aggregation
	// CWMin and RTSBytes are those of [EmulatedConfig].
	CWMin, RTSBytes int
	// Change and Watch are those of [Config].
	Change func(*control.Config)
	Watch  func(terminal int, c control.Config) func(now time.Duration, in control.Inputs, out control.Outputs)
}

// ScenarioStation is a terminal of a scenario. Without flows it has one upload.
type ScenarioStation struct {
	// PHYs are its radio's rates, each from a time on.
	PHYs []medium.RateFrom
	// Unknown says that its radio tells no rate.
	Unknown bool
	// NoAgent: it sends without bounds and reports, in all runs.
	NoAgent bool
	// Delay is added to that of the scenario, each way.
	Delay time.Duration
	Flows []ScenarioFlow
	// Joins is when its agent begins, and Sends when its flows do.
	Joins, Sends, Leaves time.Duration
	Claims               func(*message.Report)
}

// ScenarioFlow is a flow of a station.
type ScenarioFlow struct {
	Download bool
	// DemandBps limits the flow, in bit/s of payload; 0 is unlimited.
	DemandBps float64
}

// survey is a radio's view of the channel, once a second as an agent asks nl80211.
type survey struct {
	at, busy time.Duration // when it was last asked, and the busy time until then
	last     float64
}

// part returns the part of the time between the last two questions in which the channel was busy; 0
// before the second one.
func (s *survey) part(now, busy time.Duration) float64 {
	if now-s.at < time.Second {
		return s.last
	}
	if s.at > 0 {
		s.last = min((busy-s.busy).Seconds()/(now-s.at).Seconds(), 1)
	}
	s.at = now
	s.busy = busy
	return s.last
}

// Result is the result of a scenario. Slices are in order of the stations.
type Result struct {
	Goodputs []float64 // bit/s of payload
	// Airtimes are the goodputs as parts of the standalone rates of the radios at that time.
	Airtimes []float64
	RTTs     []time.Duration // means, by bits
	// RTT95 are the 95th percentiles of all RTTs, 0 without any; nil without [Emulated].
	RTT95 []time.Duration
	Total float64 // bit/s
	// Jain is Jain's index of the airtimes of unlimited stations.
	Jain float64
	// Notices are the agents' lines for users.
	Notices []string
}

// alone has the properties that a standalone rate depends on.
type alone struct {
	phy         medium.PHY
	band        medium.Band
	delay       time.Duration
	single      bool
	aggregation medium.Aggregation
}

// standaloneRates holds rates in bit/s by alone. To find one takes longer than a second of a cell.
var standaloneRates sync.Map

// Standalone is the rate of one upload of a station alone, in bit/s of payload.
func (s *Scenario) Standalone(phy medium.PHY, extraDelay time.Duration) (float64, error) {
	key := alone{phy, s.Band, s.Delay + extraDelay, s.SingleFrames, s.Aggregation}
	if rate, known := standaloneRates.Load(key); known {
		return rate.(float64), nil
	}
	one, err := NewEmulated(EmulatedConfig{
		Seed: 1, Band: s.Band, Radios: [][]medium.RateFrom{{{PHY: phy}}}, Delay: key.delay,
		SingleFrames: s.SingleFrames, Aggregation: s.Aggregation,
	})
	if err != nil {
		return 0, err
	}
	rate := one.Alone()
	standaloneRates.Store(key, rate)
	return rate, nil
}

// NewCell makes the cell of the scenario at time zero, with agents or without any.
func (s *Scenario) NewCell(agents bool) (*Cell, error) {
	air := EmulatedConfig{
		Seed: s.Seed, Band: s.Band, WireBps: s.WireBps, Delay: s.Delay, APQueue: s.APQueue,
		SingleFrames: s.SingleFrames, Aggregation: s.Aggregation, CWMin: s.CWMin, RTSBytes: s.RTSBytes, Marked: true,
	}
	c := Config{Seed: s.Seed, Loss: s.ReportLoss, Change: s.Change, Watch: s.Watch}
	for i := range s.Stations {
		station := &s.Stations[i]
		if len(station.PHYs) == 0 {
			return nil, fmt.Errorf("simulating a cell: station %d has no PHY rate", i)
		}
		single := s.SingleFrames || singleFrames(station.PHYs)
		standalone := make([]float64, len(station.PHYs))
		for k, r := range station.PHYs {
			var err error
			standalone[k], err = s.Standalone(r.PHY, 0)
			if err != nil {
				return nil, err
			}
		}
		t := Terminal{
			NoAgent: station.NoAgent || !agents, Joins: station.Joins, Sends: station.Sends, Leaves: station.Leaves,
			Claims: station.Claims, SingleFrames: single,
		}
		t.StandaloneAt = func(now time.Duration) float64 {
			at := 0
			for k, r := range station.PHYs {
				if int64(now) >= r.FromNs {
					at = k
				}
			}
			return standalone[at]
		}
		t.Standalone = standalone[0]
		var survey survey
		t.Radio = func(now time.Duration) control.Radio {
			r := control.Radio{SingleFrames: single}
			if emulated, ok := c.Air.(*Emulated); ok && s.Survey {
				r.Busy = survey.part(now, emulated.Busy())
			}
			if !station.Unknown {
				r.StandaloneBps = t.StandaloneAt(now)
				r.PHYBps = r.StandaloneBps
			}
			return r
		}
		flows := station.Flows
		if len(flows) == 0 {
			flows = []ScenarioFlow{{}}
		}
		t.Limited = true
		for _, f := range flows {
			t.Flows = append(t.Flows, Flow{Number: len(air.Flows), Download: f.Download})
			air.Flows = append(air.Flows, EmulatedFlow{
				Terminal: i, Download: f.Download, Delay: station.Delay, DemandBps: f.DemandBps,
			})
			t.Limited = t.Limited && f.DemandBps > 0
		}
		air.Radios = append(air.Radios, station.PHYs)
		c.Terminals = append(c.Terminals, t)
	}
	var err error
	c.Air, err = NewEmulated(air)
	if err != nil {
		return nil, err
	}
	return New(c)
}

// Run runs the scenario with agents or without any, and measures from one time to another.
func (s *Scenario) Run(agents bool, from, to time.Duration) (Result, error) {
	c, err := s.NewCell(agents)
	if err != nil {
		return Result{}, err
	}
	c.Until(from)
	return c.Measure(to - from)
}

// Measure lets time pass, and returns how the cell went meanwhile.
func (c *Cell) Measure(length time.Duration) (Result, error) {
	if _, err := c.State(); err != nil {
		return Result{}, err
	}
	air, _ := c.config.Air.(*Emulated)
	if air != nil {
		for i := range c.terminals {
			air.TakeRTTs(i)
		}
	}
	c.Until(c.now + length)
	state, err := c.State()
	if err != nil {
		return Result{}, err
	}
	r := Result{Goodputs: state.Rates, RTTs: state.RTTs, Total: state.Total, Jain: state.Jain, Notices: c.Notices()}
	for i, t := range c.terminals {
		r.Airtimes = append(r.Airtimes, state.Rates[i]/t.standalone())
		if air != nil {
			rtts := air.TakeRTTs(i)
			p95 := int64(0)
			if quantiles := rtts.Quantiles(0.95); quantiles != nil {
				p95 = quantiles[0]
			}
			r.RTT95 = append(r.RTT95, time.Duration(p95))
		}
	}
	return r, nil
}
