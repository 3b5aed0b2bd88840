package measure

import (
	"math"
	"testing"
	"time"

	"airtide/internal/cell"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// two is a run of two terminals on a wire of 100 Mbit/s: fast has 60 Mbit/s for a second, then 20;
// slow has 10.
func two() *Run {
	setup := &plan.Setup{
		Duration: plan.Duration(2 * time.Second), RecordInterval: plan.Duration(100 * time.Millisecond),
		WireUp: plan.Wire{Rate: 100e6}, WireDown: plan.Wire{Rate: 10e6},
		Terminals: []plan.TerminalSetup{
			{Name: "fast", Share: plan.Sharing{MaxRate: 400e6}}, {Name: "slow", Share: plan.Sharing{MaxRate: 50e6}},
		},
		Flows: []plan.FlowSetup{
			{
				Name: "a", From: "fast", To: "server",
				Flow: plan.Flow{Protocol: plan.TCP, Stop: plan.Duration(2 * time.Second)},
			},
			{
				Name: "b", From: "slow", To: "server",
				Flow: plan.Flow{Protocol: plan.TCP, Stop: plan.Duration(2 * time.Second)},
			},
		},
	}
	r := &Run{Setup: setup, Flows: make([]result.Flow, 2), Counts: &Counts{}}
	const perMs = 1000 / 8 // bytes of 1 Mbit/s
	for ms := int64(0); ms <= 2000; ms += 100 {
		s := &cell.Status{TimeNs: ms * 1e6, Flows: []cell.FlowStatus{
			{Name: "a", Forward: cell.Delivered{PayloadBytes: perMs * (60*min(ms, 1000) + 20*max(ms-1000, 0))}},
			{Name: "b", Forward: cell.Delivered{PayloadBytes: perMs * 10 * ms}},
		}}
		// 10 packets wait, and 200 in the last tenth of a second.
		s.AP.Queue.Length.PacketNs = 1e6 * float64(10*min(ms, 1900)+200*max(ms-1900, 0))
		r.Counts.Add(s)
	}
	return r
}

func TestAPartOfARunIsMeasured(t *testing.T) {
	r := two()
	first := plan.Duration(time.Second)
	second := plan.Duration(time.Second)
	for _, c := range []struct {
		name string
		m    plan.Measurement
		want float64
	}{
		{"all", plan.Measurement{Quantity: "goodput"}, 40},
		{"until one second", plan.Measurement{Quantity: "goodput", To: first}, 60},
		{"from one second", plan.Measurement{Quantity: "goodput", From: second}, 20},
		{"peak", plan.Measurement{Quantity: "goodput_peak"}, 60},
		{"peak from one second", plan.Measurement{Quantity: "goodput_peak", From: second}, 20},
		{"of the radio", plan.Measurement{Quantity: "part_of_max"}, 40. / 400},
		{
			"of what it reaches alone: the wire's",
			plan.Measurement{Quantity: "part_of_alone"},
			40 / (100. * 1448 / 1538),
		},
	} {
		if got := r.flow(c.m, 0); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
	if got := r.flow(plan.Measurement{Quantity: "part_of_alone"}, 1); math.Abs(got-10./50) > 1e-9 {
		t.Errorf("of what the slow one reaches alone: %g, want 0.2", got)
	}
	r.Setup.Flows[0].Start = plan.Duration(1500 * time.Millisecond)
	if got := r.flow(plan.Measurement{Quantity: "goodput", To: first}, 0); !math.IsNaN(got) {
		t.Errorf("before a flow begins it has %g Mbit/s", got)
	}
}

func TestDistanceIsFromTheOptimumOfTheCell(t *testing.T) {
	r := two()
	distance := plan.Measurement{Quantity: "distance"}
	// The airtime needed is 0.1 + 0.2. The optimum has both limits: x + y = 94.15, x / 400 + y / 50
	// = 1.
	y := (1 - 94.148/400) / (1./50 - 1./400)
	want := (math.Log((94.148-y)/40) + math.Log(y/10)) / 2
	if got := r.cell(distance); math.Abs(got-want) > 1e-3 {
		t.Errorf("a distance of %g, want %g", got, want)
	}
	// Downloads are limited by the other wire.
	for i := range r.Setup.Flows {
		r.Setup.Flows[i].Flow.Direction = plan.Reverse
	}
	if up, down := r.ways(&r.Setup.Flows[0]); up || !down {
		t.Errorf("a download goes up %t, down %t", up, down)
	}
	r.Setup.Flows[1].From = "server"
	r.Setup.Flows[1].To = "slow"
	if up, down := r.ways(&r.Setup.Flows[1]); !up || down {
		t.Errorf("what a terminal sends to a server that asks goes up %t, down %t", up, down)
	}
	r = two()
	r.Setup.Terminals[1].Share.MaxRate = 0
	if got := r.cell(distance); !math.IsNaN(got) {
		t.Errorf("a distance of %g without knowing what the slow one reaches alone", got)
	}
	taken := two().Take(plan.Named[plan.Measurement]{{Name: "far", Value: distance}})["far"]
	if len(taken.Values) != 1 || len(taken.Of) != 1 || taken.Of[0] != "cell" || taken.Unit != "nats" {
		t.Errorf("taken as %+v", taken)
	}
}

func TestBacklogIsAQuantileOfTheQueueOverTime(t *testing.T) {
	r := two()
	backlog := plan.Measurement{Quantity: "ap_backlog_p95"}
	if got := r.cell(backlog); math.Abs(got-10) > 1e-9 {
		t.Errorf("%g packets, want 10: 200 are there for a twentieth of the time only", got)
	}
	r.Setup.Warmup = plan.Duration(time.Second) // of the rest they are a tenth
	if got := r.cell(backlog); math.Abs(got-200) > 1e-9 {
		t.Errorf("%g packets, want 200", got)
	}
	if got := (&Run{Setup: r.Setup}).cell(backlog); !math.IsNaN(got) {
		t.Errorf("%g packets of nothing", got)
	}
}
