package plot

import (
	"fmt"
	"io"
	"strings"

	"airtide/internal/packets/conn"
	"airtide/internal/stats"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

// PacketKind is a figure of a connection in a capture.
type PacketKind string

// The figures of captures.
const (
	PacketsOverTime PacketKind = "packets"
	TimeToAck       PacketKind = "ack-time"
	Flight          PacketKind = "flight"
)

// PacketKinds lists the figures of captures.
func PacketKinds() []PacketKind { return []PacketKind{PacketsOverTime, TimeToAck, Flight} }

// Line is the name of the figure with its content, for a help text.
func (k PacketKind) Line() string {
	content := map[PacketKind]string{
		PacketsOverTime: "segments sent and ACKs received over time",
		TimeToAck:       "time from each segment to its ACK, over its sequence number",
		Flight:          "bytes in flight, and the window that the receiver advertises",
	}
	return fmt.Sprintf("%-10s %s", k, content[k])
}

// ParsePacketKind finds a figure of captures by name.
func ParsePacketKind(name string) (PacketKind, error) {
	var names []string
	for _, k := range PacketKinds() {
		if string(k) == name {
			return k, nil
		}
		names = append(names, string(k))
	}
	return "", fmt.Errorf("unknown figure %q: want one of %s", name, strings.Join(names, ", "))
}

// maxPoints is the number of points at which a series keeps only every second one.
const maxPoints = 1 << 13

// points is a series of bounded size.
type points struct{ stats.Thinned[figure.Sample] }

func (p *points) add(x, y float64) { p.Add(figure.Point(x, y), maxPoints) }

// PacketSeries collects one connection of a capture as an observer of its segments. Each series
// keeps at most 8192 points.
type PacketSeries struct {
	ID         uint64
	connection *conn.Connection
	ends       [2]packetEnd // client, server
}

type packetEnd struct {
	sent           uint64
	packets, acks  points
	flight, window points
}

// Step implements conn.Observer.
func (p *PacketSeries) Step(c *conn.Connection, s *conn.Step) error {
	if c.ID != p.ID {
		return nil
	}
	p.connection = c
	end := &p.ends[0]
	other := &p.ends[1]
	if !s.Client {
		end, other = other, end
	}
	at := float64(s.Segment.TimeNs - c.FirstNs)
	end.sent += max(1, s.Segments) // an offload shows several segments as one packet
	end.packets.add(at, float64(end.sent))
	if s.Segment.Payload > 0 {
		end.flight.add(at, float64(s.InFlight))
	}
	if s.Window >= 0 {
		other.window.add(at, float64(s.Window))
	}
	for _, d := range s.Delays {
		if d.End > d.Offset && d.Offset >= 0 {
			other.acks.add(float64(d.Offset), float64(d.Ns)/1e6)
		}
	}
	return nil
}

// Draw writes a figure of the end that sent most data.
func (p *PacketSeries) Draw(w io.Writer, format string, kind PacketKind, o figure.Options) error {
	f, err := p.Figure(kind)
	if err != nil {
		return err
	}
	return f.Write(w, format, o)
}

// Figure describes a figure of the end that sent most data.
func (p *PacketSeries) Figure(kind PacketKind) (*figure.Figure, error) {
	c := p.connection
	if c == nil {
		return nil, fmt.Errorf("the capture has no connection %d", p.ID)
	}
	end := &p.ends[0]
	from := c.Client
	to := c.Server
	data := &c.FromClient
	if c.FromServer.DataBytes > c.FromClient.DataBytes {
		end = &p.ends[1]
		from, to = to, from
		data = &c.FromServer
	}
	zero := 0.0
	last := float64(max(1, c.LastNs-c.FirstNs))
	f := &figure.Figure{
		Title: fmt.Sprintf("%s > %s", from, to),
		X:     figure.Axis{Label: "time", Kind: figure.Time, Min: &zero, Max: &last},
	}
	panel := figure.Panel{Empty: "no packets"}
	line := func(name string, style figure.Style, s *points) {
		panel.Series = append(panel.Series, figure.Series{
			Name: name, Kind: figure.Step, Style: style, Data: s.Values,
		})
	}
	switch kind {
	case PacketsOverTime:
		panel.Left = figure.Axis{Label: "segments", Unit: units.Packets}
		other := &p.ends[0]
		if end == other {
			other = &p.ends[1]
		}
		line("sent", solid(figure.Blue, 1), &end.packets)
		line("received", dashed(figure.Vermillion, 1), &other.packets)
	case TimeToAck:
		f.X = figure.Axis{Label: "sequence number, from the start of the stream", Unit: units.Sizes, Min: &zero}
		panel.Left = figure.Axis{Label: "time to ACK", Unit: units.Milliseconds}
		panel.Empty = "no segment with an ACK"
		panel.Series = []figure.Series{{
			Kind: figure.Points, Style: marker(figure.Blue, figure.Disc, 1), Data: end.acks.Values,
		}}
		f.Legend = figure.NoLegend
	case Flight:
		panel.Left = figure.Axis{Label: "bytes", Unit: units.Sizes}
		line("in flight", solid(figure.Blue, 1), &end.flight)
		line("advertised window", dashed(figure.Vermillion, 1), &end.window)
		panel.Series[1].Limit = true
	}
	switch {
	case data.ResentSegments != nil && *data.ResentSegments > 0:
		f.Note = units.Count(*data.ResentSegments, "segment") + " sent again"
	case data.ResentSegments == nil && data.LateSegments > 0:
		f.Note = units.Count(data.LateSegments, "segment") + " sent again or reordered"
	}
	if kind == TimeToAck && c.NearReceiver(data) {
		f.Note = "captured near the receiver: times in which it answers"
	}
	f.Cells = []figure.Cell{{Panels: []figure.Panel{panel}}}
	return f, nil
}
