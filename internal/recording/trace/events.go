package trace

import (
	"encoding/binary"
	"errors"

	"airtide/internal/tcp"
)

// An event is a record: its length, and then the time since the event before, flow, kind, a set of
// the parts that are not zero, and those parts in the order of their bits.
// docs/reference/recording.md specifies each.
const (
	partCode = 1 << iota
	partCAState
	partCwnd
	partSsthresh
	partInFlight
	partCause
	partReason
	partFrom
	partTo
	partSeq
	partEndSeq
	partValue
	partBlocks
	partText
	partCPU
	partFromSample // has no bytes
)

// appendEvent appends an event's record to b. beforeNs is the time of the event before it in the
// block, 0 for the first.
func appendEvent(b []byte, e *tcp.Event, beforeNs int64, scratch []byte) (out, scratchOut []byte) {
	r := binary.AppendVarint(scratch[:0], e.TimeNs-beforeNs)
	r = binary.AppendUvarint(r, uint64(e.Flow))
	r = append(r, byte(e.Kind))
	numbers := [...]uint64{
		uint64(e.Code), uint64(e.CAState), uint64(e.CwndPackets), uint64(e.SsthreshPackets), uint64(e.InFlightPackets),
		uint64(e.Cause), uint64(e.Reason), uint64(e.From), uint64(e.To),
		zigzag(e.Seq), zigzag(e.EndSeq - e.Seq), zigzag(e.Value), uint64(e.NumBlocks), uint64(len(e.Text)),
		uint64(e.CPU),
	}
	var parts uint64
	for i, n := range numbers {
		if n != 0 {
			parts |= 1 << i
		}
	}
	if e.FromSample {
		parts |= partFromSample
	}
	r = binary.AppendUvarint(r, parts)
	for i, n := range numbers {
		if n == 0 {
			continue
		}
		r = binary.AppendUvarint(r, n)
		switch 1 << i {
		case partBlocks:
			for _, block := range e.Blocks[:min(e.NumBlocks, tcp.MaxBlocks)] {
				r = binary.AppendVarint(r, block.Start-e.Seq)
				r = binary.AppendVarint(r, block.End-block.Start)
			}
		case partText:
			r = append(r, e.Text...)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(r)))
	return append(b, r...), r
}

var errEvent = errors.New("malformed event")

// parseEvents calls yield with each event of a block's decompressed payload. The event is only
// lent.
func parseEvents(b []byte, yield func(*tcp.Event) error) error {
	c := cursor{b: b}
	var timeNs int64
	var e tcp.Event
	for len(c.b) > 0 {
		r := cursor{b: c.bytes()}
		e = tcp.Event{}
		timeNs += r.signed()
		e.TimeNs = timeNs
		e.Flow = tcp.FlowID(r.number(1<<32 - 1))
		e.Kind = tcp.EventKind(r.byte())
		parts := r.unsigned()
		get := func(part, limit uint64) uint64 {
			if parts&part == 0 {
				return 0
			}
			return r.number(limit)
		}
		getSigned := func(part uint64) int64 { return unzigzag(get(part, 1<<64-1)) }
		e.Code = tcp.ErrorCode(get(partCode, 255))
		e.CAState = tcp.CAState(get(partCAState, 255))
		e.CwndPackets = uint32(get(partCwnd, 1<<32-1))
		e.SsthreshPackets = uint32(get(partSsthresh, 1<<32-1))
		e.InFlightPackets = uint32(get(partInFlight, 1<<32-1))
		e.Cause = tcp.Cause(get(partCause, 255))
		e.Reason = tcp.Reason(get(partReason, 255))
		e.From = uint8(get(partFrom, 255))
		e.To = uint8(get(partTo, 255))
		e.Seq = getSigned(partSeq)
		e.EndSeq = e.Seq + getSigned(partEndSeq)
		e.Value = getSigned(partValue)
		e.NumBlocks = uint8(get(partBlocks, tcp.MaxBlocks))
		for i := range e.NumBlocks {
			start := e.Seq + r.signed()
			e.Blocks[i] = tcp.Block{Start: start, End: start + r.signed()}
		}
		if parts&partText != 0 {
			e.Text = string(r.bytes())
		}
		e.CPU = uint16(get(partCPU, 1<<16-1))
		e.FromSample = parts&partFromSample != 0
		if c.bad || r.bad { // bytes that are left in the record are parts of a newer minor version
			return errEvent
		}
		if err := yield(&e); err != nil {
			return err
		}
	}
	return nil
}

// cursor reads numbers from the start of b. It turns bad, and stays bad, if b is too short or a
// number is too large.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) unsigned() uint64 {
	n, used := binary.Uvarint(c.b)
	if used <= 0 {
		c.bad = true
		c.b = nil
		return 0
	}
	c.b = c.b[used:]
	return n
}

// number reads an unsigned number that is at most limit.
func (c *cursor) number(limit uint64) uint64 {
	n := c.unsigned()
	if n > limit {
		c.bad = true
		c.b = nil
		return 0
	}
	return n
}

func (c *cursor) signed() int64 { return unzigzag(c.unsigned()) }

func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		c.bad = true
		return 0
	}
	x := c.b[0]
	c.b = c.b[1:]
	return x
}

// bytes reads a length and as many bytes.
func (c *cursor) bytes() []byte {
	n := c.number(uint64(len(c.b)))
	if n > uint64(len(c.b)) {
		c.bad = true
		c.b = nil
		return nil
	}
	x := c.b[:n]
	c.b = c.b[n:]
	return x
}
