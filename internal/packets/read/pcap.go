package read

import (
	"encoding/binary"
	"errors"
	"io"
)

// Magic numbers of pcap. The modified one has records with a longer header.
const (
	magicMicroseconds = 0xa1b2c3d4
	magicNanoseconds  = 0xa1b23c4d
	magicModified     = 0xa1b2cd34

	headerBytes = 24
)

// readHeader reads the header of a pcap file.
func (r *Reader) readHeader(magic []byte) error {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		r.order = order
		r.recordBytes = 16
		r.nanoseconds = false
		switch order.Uint32(magic) {
		case magicNanoseconds:
			r.nanoseconds = true
		case magicModified:
			r.recordBytes = 24
		case magicMicroseconds:
		default:
			continue
		}
		head, err := r.window.peek(headerBytes)
		if err != nil {
			return r.damage("the header", err)
		}
		// The upper bits hold the length of the frame check sequence.
		r.link = LinkType(order.Uint32(head[20:]))
		r.window.skip(headerBytes)
		return nil
	}
	return r.foreign(nil)
}

func (r *Reader) nextRecord(p *Packet) error {
	head, err := r.window.peek(r.recordBytes)
	if err != nil {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return r.damage("a packet", err)
	}
	var seconds, fraction, captured, length uint32
	if r.order == binary.ByteOrder(binary.LittleEndian) {
		seconds = binary.LittleEndian.Uint32(head)
		fraction = binary.LittleEndian.Uint32(head[4:])
		captured = binary.LittleEndian.Uint32(head[8:])
		length = binary.LittleEndian.Uint32(head[12:])
	} else {
		seconds = binary.BigEndian.Uint32(head)
		fraction = binary.BigEndian.Uint32(head[4:])
		captured = binary.BigEndian.Uint32(head[8:])
		length = binary.BigEndian.Uint32(head[12:])
	}
	if captured > maxPacket {
		return r.damage("a packet of an impossible length", nil)
	}
	whole, err := r.window.peek(r.recordBytes + int(captured))
	if err != nil {
		return r.damage("a packet", err)
	}
	nanoseconds := int64(fraction)
	if !r.nanoseconds {
		nanoseconds *= 1000
	}
	p.TimeNs = int64(seconds)*1e9 + nanoseconds
	p.Data = whole[r.recordBytes:]
	p.Length = max(int(captured), int(min(length, maxPacket)))
	p.Link = r.link
	p.Interface = 0
	r.window.skip(len(whole))
	return nil
}
