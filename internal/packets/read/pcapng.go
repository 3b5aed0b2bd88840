package read

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/bits"
)

// Blocks of a pcapng (draft-ietf-opsawg-pcapng).
const (
	sectionBlock   = 0x0a0d0d0a
	interfaceBlock = 1
	oldPacketBlock = 2
	simpleBlock    = 3
	enhancedBlock  = 6

	orderMagic = 0x1a2b3c4d

	optionEnd        = 0
	optionResolution = 9
	optionOffset     = 14
)

// networkInterface is a description of an interface.
type networkInterface struct {
	link LinkType
	snap uint32
	// unit is the number of ticks in a second, and offsetNs the time of tick 0.
	unit     uint64
	offsetNs int64
}

// timeNs converts ticks.
func (i *networkInterface) timeNs(ticks uint64) int64 {
	switch i.unit {
	case 1e9:
		return int64(ticks) + i.offsetNs
	case 1e6:
		return int64(ticks*1000) + i.offsetNs
	}
	high, low := bits.Mul64(ticks%i.unit, 1e9)
	fraction, _ := bits.Div64(high, low, i.unit)
	seconds := min(ticks/i.unit, math.MaxInt64/2_000_000_000)
	return int64(seconds*1e9+fraction) + i.offsetNs
}

// readSection reads a section header.
func (r *Reader) readSection() error {
	head, err := r.window.peek(28)
	if err != nil {
		return r.damage("the section header", err)
	}
	switch {
	case binary.LittleEndian.Uint32(head[8:]) == orderMagic:
		r.order = binary.LittleEndian
	case binary.BigEndian.Uint32(head[8:]) == orderMagic:
		r.order = binary.BigEndian
	default:
		return r.damage("a section header without byte order", nil)
	}
	if major := r.order.Uint16(head[12:]); major != 1 {
		return r.damage("a section of an unknown version", nil)
	}
	r.interfaces = r.interfaces[:0]
	_, err = r.block(r.order.Uint32(head[4:]), 28, maxOptions)
	return err
}

// block consumes a block whose size was read and returns it whole.
func (r *Reader) block(size uint32, least, most int) ([]byte, error) {
	if size%4 != 0 || int64(size) < int64(least) || int64(size) > int64(most) {
		return nil, r.damage("a block of an impossible length", nil)
	}
	whole, err := r.window.peek(int(size))
	if err != nil {
		return nil, r.damage("a block", err)
	}
	if r.order.Uint32(whole[size-4:]) != size {
		return nil, r.damage("a block with two different lengths", nil)
	}
	r.window.skip(int(size))
	return whole, nil
}

func (r *Reader) nextBlock(p *Packet) error {
	for {
		head, err := r.window.peek(8)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return io.EOF
			}
			return r.damage("a block", err)
		}
		size := r.order.Uint32(head[4:])
		switch r.order.Uint32(head) {
		case enhancedBlock:
			return r.packetBlock(p, size, 0)
		case oldPacketBlock:
			return r.packetBlock(p, size, oldPacketBlock)
		case simpleBlock:
			return r.simplePacket(p, size)
		case interfaceBlock:
			err = r.readInterface(size)
		case sectionBlock: // the same in both byte orders
			err = r.readSection()
		default:
			if size%4 != 0 || size < 12 {
				return r.damage("a block of an impossible length", nil)
			}
			if err = r.window.discard(int64(size)); err != nil {
				err = r.damage("a block", err)
			}
		}
		if err != nil {
			return err
		}
	}
}

// packetBlock reads an enhanced packet block, or the obsolete one with a smaller interface number.
func (r *Reader) packetBlock(p *Packet, size uint32, kind int) error {
	b, err := r.block(size, 32, maxPacket+maxOptions)
	if err != nil {
		return err
	}
	number := int64(r.order.Uint32(b[8:]))
	if kind == oldPacketBlock {
		number = int64(r.order.Uint16(b[8:]))
	}
	ticks := uint64(r.order.Uint32(b[12:]))<<32 | uint64(r.order.Uint32(b[16:]))
	captured := r.order.Uint32(b[20:])
	length := r.order.Uint32(b[24:])
	if number >= int64(len(r.interfaces)) {
		return r.damage("a packet of an unknown interface", nil)
	}
	if int64(captured) > int64(size)-32 || captured > maxPacket {
		return r.damage("a packet of an impossible length", nil)
	}
	from := &r.interfaces[number]
	p.TimeNs = from.timeNs(ticks)
	p.Data = b[28 : 28+captured]
	p.Length = max(int(captured), int(min(length, maxPacket)))
	p.Link = from.link
	p.Interface = int(number)
	return nil
}

// simplePacket reads a packet without time. It gets the time of the packet before.
func (r *Reader) simplePacket(p *Packet, size uint32) error {
	b, err := r.block(size, 16, maxPacket+maxOptions)
	if err != nil {
		return err
	}
	if len(r.interfaces) == 0 {
		return r.damage("a packet of an unknown interface", nil)
	}
	from := &r.interfaces[0]
	length := r.order.Uint32(b[8:])
	captured := min(length, size-16)
	if from.snap > 0 {
		captured = min(captured, from.snap)
	}
	p.TimeNs = r.lastNs
	p.Data = b[12 : 12+captured]
	p.Length = max(int(captured), int(min(length, maxPacket)))
	p.Link = from.link
	p.Interface = 0
	return nil
}

// readInterface reads the description of an interface.
func (r *Reader) readInterface(size uint32) error {
	b, err := r.block(size, 20, maxOptions)
	if err != nil {
		return err
	}
	if len(r.interfaces) == maxInterfaces {
		return r.damage("too many interfaces", nil)
	}
	i := networkInterface{link: LinkType(r.order.Uint16(b[8:])), snap: r.order.Uint32(b[12:]), unit: 1e6}
	for o := b[16 : size-4]; len(o) >= 4; {
		code := r.order.Uint16(o)
		n := int(r.order.Uint16(o[2:]))
		if code == optionEnd || 4+n > len(o) {
			break
		}
		value := o[4 : 4+n]
		switch {
		case code == optionResolution && n == 1:
			i.unit = resolution(value[0])
			if i.unit == 0 {
				return r.damage("an interface with an impossible clock", nil)
			}
		case code == optionOffset && n == 8:
			seconds := int64(r.order.Uint64(value))
			const most = math.MaxInt64 / 4_000_000_000
			i.offsetNs = max(-most, min(seconds, most)) * 1e9
		}
		o = o[min(len(o), 4+(n+3)&^3):]
	}
	r.interfaces = append(r.interfaces, i)
	return nil
}

// resolution is the number of ticks in a second, or 0 if no clock can be so fine.
func resolution(code byte) uint64 {
	if n := code & 0x7f; code&0x80 != 0 {
		if n > 62 {
			return 0
		}
		return 1 << n
	} else if n > 18 {
		return 0
	}
	unit := uint64(1)
	for range code {
		unit *= 10
	}
	return unit
}
