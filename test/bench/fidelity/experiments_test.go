package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"airtide/experiments"
	"airtide/internal/cell"
	"airtide/internal/cell/engine"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	"airtide/internal/lab/result"
	"airtide/test/ns3"
)

const oneRow = `
name: ns3-tcp
repeats: 2
terminals: {sta: {radio: {standard: g, phy_rate: 54 Mbit/s}}}
servers: {server: {}}
flows: {transfer: {from: sta, to: server, protocol: tcp}}
record: {tcp: all}
sweep: [{name: row, points: {g_up_cubic: {}, g_down_cubic: {flows.transfer.direction: reverse}}}]
measure:
  goodput: {quantity: goodput, take: each}
  total: {quantity: goodput, take: sum}
  ap_queue: {quantity: ap_queue, take: sum}
  srtt: {quantity: srtt}
claims:
  g_up_cubic: {says: "in words of any kind", holds: mean(total) > 1}
  g_down_cubic: {says: "or of another", holds: mean(total) > 1}
`

func TestARowOfTCPSaysWhatItsRunsWereLike(t *testing.T) {
	p, err := plan.Read(t.Context(), "experiment.yaml", []byte(oneRow))
	if err != nil {
		t.Fatal(err)
	}
	f, err := result.Create(t.TempDir(), p, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, run := range f.Plan.Runs {
		a, err := f.Begin(run)
		if err != nil {
			t.Fatal(err)
		}
		r := result.New(f.Plan, run)
		r.Valid = true
		r.StolenPercent = 10 * float64(run.Repeat)
		r.Engine = &cell.EngineStatus{Lag: engine.Lateness{P99Ns: 3e6 / int64(run.Repeat)}}
		r.Cell = &cell.Window{Flows: []cell.FlowWindow{{
			Name: "transfer", ForwardPackets: 100 * int64(run.Repeat),
			ReversePackets: 50,
		}}}
		for name, m := range map[string]plan.Quantity{
			"goodput": "goodput", "total": "goodput",
			"ap_queue": "ap_queue", "srtt": "srtt",
		} {
			value := map[plan.Quantity]float64{"goodput": 25.2, "ap_queue": 140, "srtt": 233}[m]
			r.Measurements[name] = result.NewMeasurement(plan.Measurement{Quantity: m, Take: plan.Each},
				[]string{"transfer"}, []float64{value})
		}
		if err := a.Finish(r); err != nil {
			t.Fatal(err)
		}
	}
	r, err := report.Read(t.Context(), f.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"| g_up_cubic | 24.00 | 25.20 | +5.0 % | 127 | 140 | 205 | 233 |  | 0.33 | 2 | 3.0 | 20.0 |",
		"| g_down_cubic | 20.00 | 25.20 | +26.0 % | 1 | 140 | 10 | 233 |  |  | 2 | 3.0 | 20.0 |",
	} {
		reference := []ns3.Row{{Goodput: 24, Backlog: 127.4, RTTMs: 205.2}, {Goodput: 20, Backlog: 1, RTTMs: 10}}[i]
		row, ok := tcpRow(r, r.Claims[i], reference)
		if !ok || row.text != want {
			t.Errorf("%v, %.1f %%, %s\nwant %s", ok, row.deviation, row.text, want)
		}
		if backlogs := []float64{140 / 127.4, 140}[i]; math.Abs(row.backlogs-backlogs) > 1e-9 {
			t.Errorf("%g of the reference's backlog, want %g", row.backlogs, backlogs)
		}
		if columns := strings.Count(tcpHeader, "|"); strings.Count(row.text, "|") != columns {
			t.Errorf("%d columns have a heading, and %s", columns-1, row.text)
		}
	}
}

func TestEveryClaimOfTCPHasAReference(t *testing.T) {
	known := references()
	for _, name := range []string{"ns3-tcp", "ns3-tcp-mixed"} {
		data, err := experiments.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Read(t.Context(), name, data)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Claims) == 0 {
			t.Errorf("%s has no claims", name)
		}
		for _, c := range p.Claims {
			if _, ok := known[c.Name]; !ok {
				t.Errorf("%s: ns-3 has no row for the claim %s", name, c.Name)
			}
		}
	}
}
