package plot

import (
	"fmt"
	"slices"

	"airtide/internal/tcp"
	"airtide/internal/view/figure"
)

// minorShare is the part of the bytes of the busiest flow below which a flow is left out of a grid.
// The control connection of iperf3 has some hundred bytes.
const minorShare = 1e-3

// Volumes is a tcp.Sink that finds the flows of a grid. It takes a hundredth of the memory of a
// Series.
type Volumes struct {
	tcp.Discard
	extent
	flows map[tcp.FlowID]moved
}

// NewVolumes makes Volumes for the figures of these options.
func NewVolumes(o Options) *Volumes {
	return &Volumes{extent: extentOf(o), flows: map[tcp.FlowID]moved{}}
}

// VolumeFields are the fields that Volumes reads.
func VolumeFields() []tcp.Field { return []tcp.Field{tcp.AckedBytes, tcp.ReceivedBytes} }

// Flow implements tcp.Sink.
func (v *Volumes) Flow(f *tcp.Flow) error {
	v.know(f.ID)
	return nil
}

// Samples implements tcp.Sink.
func (v *Volumes) Samples(b *tcp.Batch) error {
	for i, id := range b.Flow {
		m := v.flows[id]
		if from, to := v.bounds(b.TimeNs[i]); b.TimeNs[i] >= from && b.TimeNs[i] <= to {
			m.add(b, i)
		}
		v.flows[id] = m
	}
	return nil
}

// Event implements tcp.Sink.
func (v *Volumes) Event(e *tcp.Event) error {
	v.know(e.Flow)
	return nil
}

// know makes a flow count that has moved nothing so far.
func (v *Volumes) know(id tcp.FlowID) {
	if _, known := v.flows[id]; !known {
		v.flows[id] = moved{}
	}
}

// Major returns the flows without those of few bytes, and a word about these. There must be few
// enough for a grid.
func (v *Volumes) Major() (ids []tcp.FlowID, note string, err error) {
	most := int64(0)
	for _, m := range v.flows {
		most = max(most, m.Bytes)
	}
	for id, m := range v.flows {
		if float64(m.Bytes) >= minorShare*float64(most) {
			ids = append(ids, id)
		}
	}
	if err := checkNumber(len(ids), true); err != nil {
		return nil, "", err
	}
	slices.Sort(ids)
	return ids, leftOut(len(v.flows)-len(ids), "of few bytes"), nil
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
