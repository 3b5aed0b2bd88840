// Package annotate copies a capture to pcapng with the sender's state, as a recording of the same
// transfer holds it, in the comments of the packets. Wireshark shows them.
package annotate

import (
	"encoding/binary"
	"fmt"
	"io"
	"sort"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/read"
	"airtide/internal/tcp"
)

const (
	// nearNs is the greatest distance in time between a retransmission and its packet.
	nearNs = 10e6
	// staleNs is the time behind the end of the recording in which its last state counts.
	staleNs = 1e9
)

// History holds the flows' states of a recording by time. It is a tcp.Sink.
type History struct {
	tcp.Discard
	// WallNs turns times of the recording into ns since 1970.
	WallNs func(monotonicNs int64) int64

	flows map[tcp.FlowID]*flow
	order []*flow
	ends  *conn.Flows[*flow] // nil until all flows are known and shifted
	endNs int64              // the last record
}

type flow struct {
	id      tcp.FlowID
	ends    conn.Ends
	firstNs int64
	shifted bool
	shiftNs int64
	states  []state  // changes, in order of time
	repeats []repeat // in order of time
}

type state struct{ timeNs, cwnd, congestion int64 }

type repeat struct {
	timeNs int64
	cause  tcp.Cause
}

// Fields are the fields of samples that it uses.
func Fields() []tcp.Field { return []tcp.Field{tcp.CwndPackets, tcp.CAStateField} }

// Flow takes a flow.
func (h *History) Flow(f *tcp.Flow) error {
	if h.flows == nil {
		h.flows = map[tcp.FlowID]*flow{}
	}
	if h.flows[f.ID] != nil {
		return nil
	}
	known := &flow{id: f.ID, ends: conn.EndsOf(f.Local, f.Remote), firstNs: h.WallNs(f.FirstNs)}
	h.flows[f.ID] = known
	h.order = append(h.order, known)
	h.ends = nil
	return nil
}

// Samples takes the changes of the window and of the congestion state.
func (h *History) Samples(b *tcp.Batch) error {
	for i := range b.Len() {
		f := h.flows[b.Flow[i]]
		if f == nil {
			continue
		}
		s := state{h.reach(b.TimeNs[i]), b.At(tcp.CwndPackets, i), b.At(tcp.CAStateField, i)}
		if n := len(f.states); n == 0 || f.states[n-1].cwnd != s.cwnd || f.states[n-1].congestion != s.congestion {
			f.states = append(f.states, s)
		}
	}
	return nil
}

// Event takes retransmissions.
func (h *History) Event(e *tcp.Event) error {
	if f := h.flows[e.Flow]; f != nil && e.Kind == tcp.EventRetransmit {
		f.repeats = append(f.repeats, repeat{h.reach(e.TimeNs), e.Cause})
	}
	return nil
}

// reach turns a time of the recording into ns since 1970 and keeps the latest.
func (h *History) reach(monotonicNs int64) int64 {
	wall := h.WallNs(monotonicNs)
	h.endNs = max(h.endNs, wall)
	return wall
}

// Shift moves a flow to the clock of the capture, once. The offset is a time of the recording minus
// the same time of the capture.
func (h *History) Shift(id tcp.FlowID, offsetNs int64) {
	if f := h.flows[id]; f != nil && !f.shifted {
		f.shifted = true
		f.shiftNs = offsetNs
		h.ends = nil
	}
}

// ShiftOthers moves all flows that Shift has not moved.
func (h *History) ShiftOthers(offsetNs int64) {
	for _, f := range h.order {
		h.Shift(f.id, offsetNs)
	}
}

// find returns the flow of an address pair that began last before a time, or else the first one.
func (h *History) find(pair conn.Ends, timeNs int64) *flow {
	if h.ends == nil {
		h.ends = &conn.Flows[*flow]{}
		for _, f := range h.order {
			h.ends.Add(f.ends, f.firstNs-f.shiftNs, f)
		}
	}
	f, later := h.ends.Around(pair, timeNs)
	if f == nil {
		f = later
	}
	if f == nil || timeNs > h.endNs-f.shiftNs+staleNs {
		return nil
	}
	return f
}

// comment describes the flow at a packet.
func (f *flow) comment(timeNs int64, repeated bool) string {
	text := ""
	timeNs += f.shiftNs
	at := sort.Search(len(f.states), func(i int) bool { return f.states[i].timeNs > timeNs })
	if at > 0 {
		s := f.states[at-1]
		if s.cwnd != tcp.Absent {
			text += fmt.Sprintf(", cwnd %d packets", s.cwnd)
		}
		if s.congestion != tcp.Absent {
			text += fmt.Sprintf(", state %s", tcp.CAState(s.congestion))
		}
	}
	if repeated {
		if cause := f.cause(timeNs); cause != tcp.CauseNone {
			text += ", retransmission: " + cause.Title()
		}
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf("flow %d%s", f.id, text)
}

// cause is that of the retransmission nearest to a time.
func (f *flow) cause(timeNs int64) (best tcp.Cause) {
	at := sort.Search(len(f.repeats), func(i int) bool { return f.repeats[i].timeNs >= timeNs })
	far := int64(nearNs)
	for _, r := range f.repeats[max(0, at-1):min(len(f.repeats), at+1)] {
		if d := max(r.timeNs-timeNs, timeNs-r.timeNs); d <= far {
			best = r.cause
			far = d
		}
	}
	return best
}

// Copier passes packets on to an analysis, observes it, and writes each packet with its comment.
// Its output is a pcapng with little-endian numbers and times in ns.
type Copier struct {
	Source  conn.Source
	History *History
	Out     io.Writer
	// Commented counts packets that got a comment.
	Commented uint64

	links   map[read.LinkType]uint32
	packet  *read.Packet
	comment string
	block   []byte
	begun   bool
}

// Step finds the comment of the present packet: the state of its sender, or of its receiver if the
// recording lacks the sender.
func (c *Copier) Step(k *conn.Connection, s *conn.Step) error {
	pair := conn.EndsOf(k.Client, k.Server)
	if !s.Client {
		pair = pair.Reversed()
	}
	if f := c.History.find(pair, s.Segment.TimeNs); f != nil {
		c.comment = f.comment(s.Segment.TimeNs, s.Signs&conn.Repeated != 0)
	} else if f := c.History.find(pair.Reversed(), s.Segment.TimeNs); f != nil {
		c.comment = f.comment(s.Segment.TimeNs, false)
	}
	return nil
}

// Next writes the packet before and reads the next one.
func (c *Copier) Next(p *read.Packet) error {
	if err := c.Flush(); err != nil {
		return err
	}
	if err := c.Source.Next(p); err != nil {
		return err
	}
	c.packet = p
	return nil
}

// Flush writes the last packet.
func (c *Copier) Flush() error {
	order := binary.LittleEndian
	if !c.begun {
		c.begun = true
		head := order.AppendUint32(nil, 0x1a2b3c4d)
		head = order.AppendUint16(order.AppendUint16(head, 1), 0)
		if err := c.write(0x0a0d0d0a, order.AppendUint64(head, ^uint64(0))); err != nil {
			return err
		}
	}
	p := c.packet
	if p == nil {
		return nil
	}
	link, known := c.links[p.Link]
	if !known {
		if c.links == nil {
			c.links = map[read.LinkType]uint32{}
		}
		link = uint32(len(c.links))
		c.links[p.Link] = link
		// Any length, and a clock of nanoseconds (option 9).
		head := order.AppendUint32(order.AppendUint32(nil, uint32(p.Link)), 0)
		if err := c.write(1, append(head, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0)); err != nil {
			return err
		}
	}
	b := order.AppendUint32(nil, link)
	b = order.AppendUint32(order.AppendUint32(b, uint32(uint64(p.TimeNs)>>32)), uint32(p.TimeNs))
	b = order.AppendUint32(order.AppendUint32(b, uint32(len(p.Data))), uint32(p.Length))
	b = pad(append(b, p.Data...))
	if c.comment != "" {
		b = order.AppendUint16(order.AppendUint16(b, 1), uint16(len(c.comment)))
		b = append(pad(append(b, c.comment...)), 0, 0, 0, 0)
		c.Commented++
	}
	c.packet = nil
	c.comment = ""
	return c.write(6, b)
}

func pad(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }

func (c *Copier) write(kind uint32, body []byte) error {
	order := binary.LittleEndian
	size := uint32(len(body) + 12)
	c.block = order.AppendUint32(order.AppendUint32(c.block[:0], kind), size)
	c.block = order.AppendUint32(append(c.block, body...), size)
	_, err := c.Out.Write(c.block)
	return err
}
