package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"airtide/internal/tcp"
)

var errSamples = errors.New("malformed samples block")

// samplesDecoder turns the payloads of samples blocks into batches. It keeps its memory from block
// to block.
type samplesDecoder struct {
	columnDecoder
	timeID, flowID int
	fieldID        [tcp.NumStored]int // ids of the fields' columns in this file, -1 for one that it does not have
	want           [tcp.NumStored]bool
	selection      selection

	batch  tcp.Batch
	head   []byte
	flow   []int64
	rows   []int32 // numbers of the selected rows
	absent []int64 // the common column of absent fields
	own    [tcp.NumStored]ownColumn
}

// ownColumn is the memory of a field's column.
type ownColumn struct {
	values   []int64
	constant bool // all values are the first one
}

// selection is the rows that a scan asks for.
type selection struct {
	all          bool
	flows        map[tcp.FlowID]bool // nil: every flow
	fromNs, toNs int64               // toNs exclusive
}

// mayHave reports whether the block can contain selected rows.
func (s *selection) mayHave(h *header) bool {
	if s.all {
		return true
	}
	if h.lastNs < s.fromNs || h.firstNs >= s.toNs {
		return false
	}
	if s.flows == nil || len(s.flows) > 64 { // more are not worth the search
		return true
	}
	for f := range s.flows {
		if uint32(f) >= h.lowest && uint32(f) <= h.highest {
			return true
		}
	}
	return false
}

func (s *selection) hasFlow(f tcp.FlowID) bool { return s.flows == nil || s.flows[f] }

func (s *selection) hasTime(ns int64) bool { return ns >= s.fromNs && ns < s.toNs }

// newSamplesDecoder maps the file's columns to fields by name. Columns with other names are never
// looked at.
func newSamplesDecoder(columns []column) (*samplesDecoder, error) {
	d := &samplesDecoder{timeID: -1, flowID: -1}
	for f := range d.fieldID {
		d.fieldID[f] = -1
	}
	if len(columns) > maxColumns {
		return nil, fmt.Errorf("%w: %d columns, at most %d are possible", errMetadata, len(columns), maxColumns)
	}
	highest := 0
	for _, c := range columns {
		if c.ID < 0 || c.ID > math.MaxUint16 {
			return nil, fmt.Errorf("%w: column %q has the id %d", errMetadata, c.Name, c.ID)
		}
		highest = max(highest, c.ID)
		switch f, ok := tcp.FieldByName(c.Name); {
		case c.Name == timeName:
			d.timeID = c.ID
		case c.Name == flowName:
			d.flowID = c.ID
		case ok && !f.Computed():
			d.fieldID[f] = c.ID
		}
	}
	if d.timeID < 0 || d.flowID < 0 {
		return nil, fmt.Errorf("%w: no columns %s and %s", errMetadata, timeName, flowName)
	}
	d.byID = make([]codedColumn, highest+1)
	d.decoded = make([][]int64, highest+1)
	return d, nil
}

// decode decodes the selected rows of a block. The batch is read-only and valid until the next
// call. Unchanged columns keep their memory from block to block, and all absent columns share the
// same memory.
func (d *samplesDecoder) decode(payload []byte, n int) (*tcp.Batch, error) {
	if n < 1 || n > maxRows || len(payload) < 4 {
		return nil, errSamples
	}
	headLen := binary.LittleEndian.Uint32(payload)
	payload = payload[4:]
	if uint64(headLen) > uint64(len(payload)) {
		return nil, errSamples
	}
	var err error
	d.head, err = decompress(d.head, payload[:headLen], maxDecoded)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSamples, err)
	}
	if err := d.parseColumns(d.head, payload[headLen:]); err != nil {
		return nil, err
	}
	if len(d.absent) < n {
		d.absent = make([]int64, n)
		fill(d.absent, tcp.Absent)
	}
	if err := d.timeAndFlow(n); err != nil {
		return nil, err
	}
	d.selectRows()
	for f := range d.batch.Cols {
		if err := d.field(f, n); err != nil {
			return nil, err
		}
	}
	return &d.batch, nil
}

// timeAndFlow decodes the columns that identify a row.
func (d *samplesDecoder) timeAndFlow(n int) error {
	b := &d.batch
	b.TimeNs = resized(b.TimeNs, n)
	d.flow = resized(d.flow, n)
	if err := d.columnDecoder.decode(d.timeID, b.TimeNs); err != nil {
		return err
	}
	if err := d.columnDecoder.decode(d.flowID, d.flow); err != nil {
		return err
	}
	b.Flow = resized(b.Flow, n)
	for i, f := range d.flow {
		if uint64(f) > math.MaxUint32 {
			return fmt.Errorf("%w: flow %d", errSamples, f)
		}
		b.Flow[i] = tcp.FlowID(f)
	}
	return nil
}

// selectRows lists the selected rows, and takes the others out of the columns of time and flow.
func (d *samplesDecoder) selectRows() {
	if d.selection.all {
		return
	}
	b := &d.batch
	d.rows = d.rows[:0]
	for i, ns := range b.TimeNs {
		if d.selection.hasTime(ns) && d.selection.hasFlow(b.Flow[i]) {
			n := len(d.rows)
			b.TimeNs[n] = ns
			b.Flow[n] = b.Flow[i]
			d.rows = append(d.rows, int32(i))
		}
	}
	b.TimeNs = b.TimeNs[:len(d.rows)]
	b.Flow = b.Flow[:len(d.rows)]
}

// field decodes a field of the block's n rows into the batch.
func (d *samplesDecoder) field(f, n int) error {
	b := &d.batch
	selected := len(b.TimeNs)
	id := d.fieldID[f]
	own := &d.own[f]
	if id < 0 || !d.want[f] || selected == 0 {
		b.Cols[f] = d.absent[:selected]
		return nil
	}
	value, constant := d.constant(id)
	if constant && value == tcp.Absent {
		b.Cols[f] = d.absent[:selected]
		return nil
	}
	if len(own.values) < n {
		*own = ownColumn{values: make([]int64, n)}
	}
	b.Cols[f] = own.values[:selected]
	if constant {
		if !own.constant || own.values[0] != value {
			fill(own.values, value)
			own.constant = true
		}
		return nil
	}
	own.constant = false
	if err := d.columnDecoder.decode(id, own.values[:n]); err != nil {
		return err
	}
	if selected < n {
		for i, row := range d.rows {
			own.values[i] = own.values[row]
		}
		return nil // the column is no longer whole, so that it cannot be a reference
	}
	d.decoded[id] = own.values[:n]
	return nil
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
