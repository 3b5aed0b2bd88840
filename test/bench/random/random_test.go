package main

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"airtide/internal/cell/medium"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

func TestACellIsDrawnFromItsSeed(t *testing.T) {
	seen := map[string]bool{}
	for seed := uint64(1); seed <= 500; seed++ {
		c, err := newCell(seed)
		if err != nil {
			t.Fatal(err)
		}
		again, err := newCell(seed)
		if err != nil || !reflect.DeepEqual(c, again) {
			t.Fatalf("seed %d: another cell the second time: %v, %v", seed, again, err)
		}
		seen[c.String()] = true
		s := &c.scenario
		if n := len(s.Stations); n < 2 || n > 12 || c.foreign() > n-2 || s.APQueue < 50 || s.APQueue > 1000 {
			t.Errorf("seed %d: out of range: %s", seed, c)
		}
		for _, station := range s.Stations {
			mbps := station.PHYs[0].PHY.Mbps()
			if station.Delay < minRTT/2 || station.Delay > maxRTT/2 || mbps < 5.5 || mbps > 1733.4 {
				t.Errorf("seed %d: out of range: %s", seed, c)
			}
			for _, f := range station.Flows {
				if f.Download && !c.down || !f.Download && !c.up {
					t.Errorf("seed %d: a flow in the wrong direction: %s", seed, c)
				}
			}
		}
	}
	if len(seen) != 500 {
		t.Errorf("%d different cells of 500", len(seen))
	}
}

// The experiment has the cell's terminals, rates, delays, queue, wire and flows.
func TestTheExperimentIsTheCell(t *testing.T) {
	for seed := uint64(1); seed <= 40; seed++ {
		c, err := newCell(seed)
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.experiment(3)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Read(t.Context(), "random.yaml", []byte(text))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if len(p.Points) != 2 || len(p.Claims) != 3 {
			t.Fatalf("seed %d: %d points and %d claims", seed, len(p.Points), len(p.Claims))
		}
		for i, point := range p.Points {
			checkSetup(t, c, point.Setup, i == 1)
		}
	}
}

// checkSetup compares a point of the experiment to the cell.
func checkSetup(t *testing.T, c *cell, setup *plan.Setup, sharing bool) {
	t.Helper()
	s := &c.scenario
	wire := s.WireBps
	if wire == 0 {
		wire = 10e9
	}
	if setup.Cell.AP.Queue.Packets != s.APQueue || float64(setup.WireUp.Rate) != wire ||
		len(setup.Terminals) != len(s.Stations) || (setup.Band == plan.Band24) != (s.Band == medium.Band2GHz) {
		t.Fatalf("seed %d: queue %s, wire %s, band %s, %d terminals",
			c.seed, setup.Cell.AP.Queue, setup.WireUp.Rate, setup.Band, len(setup.Terminals))
	}
	for i, station := range s.Stations {
		got := setup.Terminals[i]
		if got.Radio.PHY[0].PHY != station.PHYs[0].PHY {
			t.Errorf("seed %d: %s has the PHY %+v instead of %+v", c.seed, got.Name, got.Radio.PHY, station.PHYs[0].PHY)
		}
		delay := time.Duration(got.Up[0].Line.Delay + got.Down[0].Line.Delay)
		if (delay - 2*station.Delay).Abs() > 2*time.Microsecond {
			t.Errorf("seed %d: %s has an RTT of %s instead of %s", c.seed, got.Name, delay, 2*station.Delay)
		}
		agent := sharing && !station.NoAgent
		if got.Share.Agent() != agent || agent && (got.Share.MaxRate == 0) != c.unknown ||
			agent && !got.Share.KnowsBusy {
			t.Errorf("seed %d: %s shares with %+v", c.seed, got.Name, got.Share)
		}
		wantDown := 0
		down := 0
		flows := 0
		for _, f := range station.Flows {
			if f.Download {
				wantDown++
			}
		}
		for _, f := range setup.Flows {
			if f.From == got.Name {
				flows += f.Flow.Parallel
				if f.Flow.SendsBack() {
					down += f.Flow.Parallel
				}
			}
		}
		if flows != len(station.Flows) || down != wantDown {
			t.Errorf("seed %d: %s has %d flows, %d down, instead of %d and %d",
				c.seed, got.Name, flows, down, len(station.Flows), wantDown)
		}
	}
}

// Runs of a cell differ by their random numbers, and the result is their mean.
func TestRunsAreAveraged(t *testing.T) {
	total := func(seed uint64, n int) float64 {
		c, err := newCell(22)
		if err != nil {
			t.Fatal(err)
		}
		c.seed = seed
		runs = n
		defer func() { runs = 1 }()
		r, err := c.mean(false)
		if err != nil {
			t.Fatal(err)
		}
		return r.Total
	}
	first := total(22, 1)
	second := total(22+otherAir, 1)
	if got, want := total(22, 2), (first+second)/2; first == second || math.Abs(got/want-1) > 1e-9 {
		t.Errorf("totals of %g and %g have a mean of %g", first, second, got)
	}
}

func TestPage(t *testing.T) {
	outcomes, err := judgeAll(t.Context(), 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if math.IsNaN(o.total) || !(o.index > 0 && o.index <= 1.0001) || !(o.rtt > 0) {
			t.Errorf("seed %d: total %v, index %v, RTT %v", o.cell.seed, o.total, o.index, o.rtt)
		}
	}
	page := pageOf(outcomes)
	for _, want := range []string{
		"2 random cells", "| unknown, ", "| airtime index >= 0.95 |", "| up | down | mixed |",
		"## The cells of the least index\n", "| 1 | ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in\n%s", want, page)
		}
	}
	var text strings.Builder
	outcomes[0].print(&text)
	if !strings.Contains(text.String(), "seed 1: ") || strings.Count(text.String(), "\n") < 4 {
		t.Error(text.String())
	}
}

// A run's measurements of flows become those of terminals.
func TestResultWithRealTCP(t *testing.T) {
	c, err := newCell(3)
	if err != nil {
		t.Fatal(err)
	}
	goodput := result.Measurement{Of: []string{"up1", "down1", "up2"}, Each: result.Values{1, 2, 4}}
	rtt := result.Measurement{Of: []string{"up1", "down1"}, Each: result.Values{30, 50}}
	r := &result.Result{Measurements: map[string]result.Measurement{"goodput": goodput, "rtt_p95": rtt}}
	got, err := c.resultOf(r)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := c.scenario.Standalone(c.scenario.Stations[1].PHYs[0].PHY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got.Goodputs[0] != 3e6 || got.Goodputs[1] != 4e6 || got.Total != 7e6 || got.Airtimes[1] != 4e6/alone ||
		got.RTT95[0] != 50*time.Millisecond {
		t.Errorf("%+v", got)
	}
	delete(r.Measurements, "rtt_p95")
	if _, err := c.resultOf(r); err == nil || !strings.Contains(err.Error(), "rtt_p95") {
		t.Error(err)
	}
}

func TestPageOfRealTCP(t *testing.T) {
	c, err := newCell(3)
	if err != nil {
		t.Fatal(err)
	}
	o := outcome{cell: c, total: 1.5, index: 0.9, rtt: 0.1}
	page := pageOfReal([]pair{{outcome{cell: c, total: 1.25}, o}}, []string{"seed 9: too fast"})
	for _, want := range []string{"| 3 | 1.50 (1.25) | 0.900 (0.000) |", "- seed 9: too fast\n", "\n1 of the [random"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in\n%s", want, page)
		}
	}
}

// Beside two terminals without an agent that upload, the participants keep their airtime if radios
// tell how busy the channel is.
func TestBusyTimeHelpsBesideTerminalsWithoutAnAgent(t *testing.T) {
	const seed = 196
	total := map[bool]float64{}
	for _, survey := range []bool{false, true} {
		c, err := newCell(seed)
		if err != nil {
			t.Fatal(err)
		}
		c.scenario.Survey = survey
		o, err := c.judge()
		if err != nil {
			t.Fatal(err)
		}
		total[survey] = o.total
	}
	if total[true] < 2*total[false] {
		t.Errorf("seed %d: %.2f of the default's total with the busy time, %.2f without", seed, total[true],
			total[false])
	}
}
