package workload

import (
	"strings"
	"testing"
	"time"

	"airtide/internal/lab/plan"
)

// setup is a flow from phone to server, from the start to a stop, with the defaults of a plan.
func setup(name string, stop time.Duration, f plan.Flow) plan.FlowSetup {
	f.Stop = plan.Duration(stop)
	if f.Parallel == 0 {
		f.Parallel = 1
	}
	if f.Direction == "" {
		f.Direction = plan.Forward
	}
	return plan.FlowSetup{Name: name, Group: name, From: "phone", To: "server", Flow: f}
}

func TestEveryFlowHasAPortOfItsOwn(t *testing.T) {
	flows := []plan.FlowSetup{
		setup("a", 1, plan.Flow{Protocol: plan.TCP}), setup("b", 1, plan.Flow{Protocol: plan.Ping}),
		setup("c", 1, plan.Flow{Protocol: plan.Web}), setup("d", 1, plan.Flow{Protocol: plan.UDP}),
	}
	ports, err := Ports(65533, flows)
	if err != nil || ports[0] != 65533 || ports[1] != 0 || ports[2] != 65534 || ports[3] != 65535 {
		t.Errorf("ports %v (%v), want 65533, none, 65534, 65535", ports, err)
	}
	if _, err := Ports(65534, flows); err == nil || !strings.Contains(err.Error(), "d") {
		t.Errorf("three flows fit above 65534: %v", err)
	}
	if _, err := Ports(0, flows); err == nil {
		t.Error("port 0 was given away")
	}
}
