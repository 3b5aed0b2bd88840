package result

import (
	"maps"
	"testing"

	"airtide/internal/cell"
)

// A terminal's goodput is the data of its flows: neither ping nor replies to the data.
func TestGoodputIsTheDataOfFlows(t *testing.T) {
	r := &Result{Flows: []Flow{
		{Name: "both", From: "phone", To: "server", Protocol: "tcp", Direction: "both"},
		{Name: "up", From: "phone", To: "server", Protocol: "udp", Direction: "forward"},
		{Name: "down", From: "phone", To: "server", Protocol: "tcp", Direction: "reverse"},
		{Name: "get", From: "tablet", To: "server", Protocol: "http_get", Direction: "forward"},
		{Name: "echo", From: "tablet", To: "server", Protocol: "ping", Direction: "forward"},
		{Name: "absent", From: "tablet", To: "server", Protocol: "tcp", Direction: "forward"},
	}}
	w := &cell.Window{}
	for _, name := range []string{"both", "up", "down", "get", "echo"} {
		w.Flows = append(w.Flows, cell.FlowWindow{Name: name, ForwardMbps: 10, ReverseMbps: 1})
	}
	got := r.Goodput(w)
	if want := map[string]float64{"both": 11, "up": 10, "down": 1, "get": 1}; !maps.Equal(got.Flows, want) {
		t.Errorf("flows have %v, want %v", got.Flows, want)
	}
	if want := map[string]float64{"phone": 22, "tablet": 1, "server": 23}; !maps.Equal(got.Machines, want) {
		t.Errorf("machines have %v, want %v", got.Machines, want)
	}
}
