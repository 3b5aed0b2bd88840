package plot

import (
	"fmt"
	"io"

	"airtide/internal/packets/join"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

// DrawJoined writes a figure of one end in a capture and a recording: captured bytes in flight and
// recorded cwnd over the time of the capture.
func DrawJoined(w io.Writer, format string, j *join.Connection, o figure.Options) error {
	zero := 0.0
	last := float64(max(1, j.LastNs-j.FirstNs))
	line := func(name string, style figure.Style, from []join.Point) figure.Series {
		return figure.Series{Name: name, Kind: figure.Step, Style: style, Data: during(j, from)}
	}
	f := &figure.Figure{
		Title: fmt.Sprintf("%s > %s", tcp.Endpoint(j.Local), tcp.Endpoint(j.Remote)),
		X:     figure.Axis{Label: "time", Kind: figure.Time, Min: &zero, Max: &last},
		Note:  "recording taken as on the capture's clock",
	}
	if j.AlignedBy == "acks" {
		f.Note = fmt.Sprintf("recording moved by %s ms", units.ThreeDigits(-float64(j.OffsetNs)/1e6))
	}
	f.Cells = []figure.Cell{{Panels: []figure.Panel{{
		Left: figure.Axis{Label: "bytes", Unit: units.Sizes}, Empty: "no data",
		Series: []figure.Series{
			line("in flight (capture)", solid(figure.Blue, 1), j.InFlight),
			line("cwnd (recording)", dashed(figure.Vermillion, 1), j.Cwnd()),
		},
	}}}}
	return f.Write(w, format, o)
}

// during returns the points of a connection's time, in ns since its first packet. The last value
// from before that packet holds at it.
func during(j *join.Connection, from []join.Point) []figure.Sample {
	var kept points
	for i, p := range from {
		held := i+1 == len(from) || from[i+1].TimeNs > j.FirstNs
		if held && p.TimeNs <= j.LastNs {
			kept.add(float64(max(0, p.TimeNs-j.FirstNs)), float64(p.Value))
		}
	}
	return kept.Values
}
