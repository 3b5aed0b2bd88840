package plot

import (
	"fmt"
	"slices"

	"airtide/internal/view/figure"
)

// minorShare is the part of the bytes of the busiest flow below which a flow is left out of a grid.
// The control connection of iperf3 has some hundred bytes.
const minorShare = 1e-3

// withoutMinor leaves out flows of few bytes, and returns a word about them.
func withoutMinor(flows []*FlowSeries) (kept []*FlowSeries, note string) {
	most := int64(0)
	for _, f := range flows {
		most = max(most, f.Bytes)
	}
	minor := func(f *FlowSeries) bool { return float64(f.Bytes) < minorShare*float64(most) }
	kept = slices.DeleteFunc(slices.Clone(flows), minor)
	return kept, leftOut(len(flows)-len(kept), "of few bytes")
}

// dropEmpty leaves out cells without data if others have some, and returns a word about them.
func dropEmpty(f *figure.Figure) string {
	hasData := func(p figure.Panel) bool { return p.HasData() }
	empty := func(c figure.Cell) bool { return !slices.ContainsFunc(c.Panels, hasData) }
	kept := slices.DeleteFunc(slices.Clone(f.Cells), empty)
	n := len(f.Cells) - len(kept)
	if len(kept) == 0 {
		return ""
	}
	f.Cells = kept
	return leftOut(n, "without data here")
}

func leftOut(n int, reason string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "left out: 1 flow " + reason
	}
	return fmt.Sprintf("left out: %d flows %s", n, reason)
}
