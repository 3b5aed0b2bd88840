package trace

import (
	"errors"
	"fmt"

	"airtide/internal/tcp"
)

var errColumn = errors.New("malformed column")

// codedColumn is a column's description in the head of a samples block.
type codedColumn struct {
	flags    byte
	first    int64
	ref      reference
	presence []byte
	groups   []byte // inline, or compressed
}

// parseColumns reads the descriptions of a block's columns into byID. It skips columns with ids
// beyond byID, and forgets the block before.
func (d *columnDecoder) parseColumns(head, body []byte) error {
	for _, id := range d.present {
		d.byID[id] = codedColumn{}
		d.decoded[id] = nil
	}
	d.present = d.present[:0]
	c := cursor{b: head}
	for len(c.b) > 0 {
		var col codedColumn
		id := c.unsigned()
		col.flags = c.byte()
		if col.flags&^knownFlags != 0 {
			return fmt.Errorf("%w: unknown flags %#x", errColumn, col.flags)
		}
		col.first = c.signed()
		if col.flags&flagReference != 0 {
			col.ref = reference{int(c.number(1 << 16)), int(c.byte())}
		}
		if col.flags&flagPresence != 0 {
			col.presence = c.bytes()
		}
		switch {
		case col.flags&flagInline != 0:
			col.groups = c.bytes()
		case col.flags&flagPacked != 0:
			n := c.number(uint64(len(body)))
			if n <= uint64(len(body)) {
				col.groups = body[:n]
				body = body[n:]
			}
		}
		if c.bad {
			return errColumn
		}
		col.flags |= columnThere
		if id < uint64(len(d.byID)) {
			d.byID[id] = col
			d.present = append(d.present, id)
		}
	}
	return nil
}

// columnThere marks a codedColumn that is present in the block. The mark is not stored in the file.
const columnThere = 0x80

// columnDecoder decodes columns. It keeps its memory from block to block.
type columnDecoder struct {
	byID      []codedColumn
	present   []uint64  // ids of the columns in this block
	decoded   [][]int64 // the columns of this block that are decoded already, by id; nil for the others
	groups    []byte
	reference []int64
}

// constant returns the value of a column that is the same in every row.
func (d *columnDecoder) constant(id int) (value int64, ok bool) {
	c := &d.byID[id]
	if c.flags&columnThere == 0 {
		return tcp.Absent, true
	}
	return c.first, c.flags == columnThere
}

// decode decodes a column into out, which has the block's number of rows.
func (d *columnDecoder) decode(id int, out []int64) error {
	c := &d.byID[id]
	if c.flags&columnThere == 0 {
		fill(out, tcp.Absent)
		return nil
	}
	if err := d.unpack(c, out); err != nil {
		return fmt.Errorf("column %d: %w", id, err)
	}
	if c.flags&flagReference != 0 {
		if err := d.addReference(c, out); err != nil {
			return fmt.Errorf("column %d: %w", id, err)
		}
	}
	if c.flags&flagPresence != 0 {
		return takeAway(c.presence, out)
	}
	return nil
}

// unpack decodes the column's groups.
func (d *columnDecoder) unpack(c *codedColumn, out []int64) error {
	if c.flags&flagPacked == 0 {
		fill(out, c.first)
		return nil
	}
	if c.flags&flagInline != 0 {
		d.groups = append(append(d.groups[:0], c.groups...), make([]byte, decodePadding)...)
	} else {
		groups, err := decompress(d.groups, c.groups, maxGroups(len(out)))
		if err != nil {
			return err
		}
		d.groups = append(groups, make([]byte, decodePadding)...)
	}
	return unpackGroups(c.first, d.groups, out)
}

// unpackGroups decodes groups that decodePadding bytes follow.
func unpackGroups(first int64, groups []byte, out []int64) error {
	var residuals [groupRows]uint64
	last := first
	end := len(groups) - decodePadding
	at := 0
	for len(out) > 0 {
		if at >= end {
			return errColumn
		}
		width := uint(groups[at])
		at++
		n := min(groupRows, len(out))
		group := out[:n]
		out = out[n:]
		if width == 0 {
			fill(group, last)
			continue
		}
		length := (n*int(width) + 7) / 8
		if width > maxPackedBits && width != 64 || length > end-at {
			return errColumn
		}
		unpackGroup(groups[at:at+length+decodePadding], &residuals, n, width)
		at += length
		for i := range group {
			last += unzigzag(residuals[i&(groupRows-1)])
			group[i] = last
		}
	}
	if at != end {
		return errColumn
	}
	return nil
}

// addReference adds the column that this one was coded as a difference to. That one must not have a
// reference itself.
func (d *columnDecoder) addReference(c *codedColumn, out []int64) error {
	if c.ref.id >= len(d.byID) || d.byID[c.ref.id].flags&(columnThere|flagReference|flagPresence) != columnThere {
		return fmt.Errorf("%w: column %d cannot be its reference", errColumn, c.ref.id)
	}
	if cap(d.reference) < len(out) {
		d.reference = make([]int64, len(out))
	}
	ahead := d.reference[:len(out)]
	if done := d.decoded[c.ref.id]; done != nil {
		ahead = done
	} else if err := d.unpack(&d.byID[c.ref.id], ahead); err != nil {
		return err
	}
	lag := min(c.ref.lag, len(out))
	for i := range out[:lag] {
		out[i] += ahead[0]
	}
	for i := range out[lag:] {
		out[lag+i] += ahead[i]
	}
	return nil
}

// takeAway makes the absent rows of the presence list absent.
func takeAway(presence []byte, out []int64) error {
	c := cursor{b: presence}
	for present := true; len(c.b) > 0; present = !present {
		n := c.number(uint64(len(out)))
		if c.bad {
			break
		}
		if !present {
			fill(out[:n], tcp.Absent)
		}
		out = out[n:]
	}
	if c.bad || len(out) > 0 {
		return fmt.Errorf("%w: bad presence list", errColumn)
	}
	return nil
}

func fill(v []int64, x int64) {
	for i := range v {
		v[i] = x
	}
}
