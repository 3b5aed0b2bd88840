package export

import (
	"maps"
	"slices"

	"airtide/internal/tcp"
)

// flowTable keeps the last description of each flow: from Options.Flows, or else the last
// announcement. The table of flows is written at the end, because the owner of a flow is often
// found after its first samples.
type flowTable struct {
	flows map[tcp.FlowID]*tcp.Flow
	final map[tcp.FlowID]*tcp.Flow
}

func newFlowTable(o *Options) flowTable {
	t := flowTable{flows: map[tcp.FlowID]*tcp.Flow{}, final: o.Flows}
	maps.Copy(t.flows, o.Flows)
	return t
}

func (t flowTable) put(f *tcp.Flow) {
	if t.final[f.ID] == nil {
		last := *f
		t.flows[f.ID] = &last
	}
}

// sorted lists the flows by number.
func (t flowTable) sorted() []*tcp.Flow {
	var flows []*tcp.Flow
	for _, id := range slices.Sorted(maps.Keys(t.flows)) {
		flows = append(flows, t.flows[id])
	}
	return flows
}
