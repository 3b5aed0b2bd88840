package export

import (
	"errors"

	"github.com/parquet-go/parquet-go"

	"airtide/internal/tcp"
)

var errParquetStream = errors.New(
	"parquet needs a file that can be written in any order and is three tables: " +
		"name a file or a folder with -o, or take csv or jsonl for a stream")

// orderedGroup is a schema whose columns keep the order that they are given; parquet.Group sorts
// them by name.
type orderedGroup struct {
	parquet.Group
	order []string
}

// Fields lists the columns.
func (g orderedGroup) Fields() []parquet.Field {
	byName := make(map[string]parquet.Field, len(g.order))
	for _, f := range g.Group.Fields() {
		byName[f.Name()] = f
	}
	fields := make([]parquet.Field, len(g.order))
	for i, name := range g.order {
		fields[i] = byName[name]
	}
	return fields
}

// sampleColumns lists flow, time_ns, time and one column for each field. Whole numbers are stored
// as differences (DELTA_BINARY_PACKED): counters and times grow by little, most gauges repeat.
func sampleColumns(meta *Meta, fields []tcp.Field) []sampleColumn {
	integer := func(node parquet.Node) parquet.Node { return parquet.Encoded(node, &parquet.DeltaBinaryPacked) }
	columns := []sampleColumn{{
		name: "flow", node: integer(parquet.Uint(32)),
		fill: func(values []parquet.Value, b *tcp.Batch, from int) {
			for i := range values {
				values[i] = parquet.Int32Value(int32(b.Flow[from+i]))
			}
		},
	}, {
		name: "time_ns", node: integer(parquet.Int(64)),
		fill: func(values []parquet.Value, b *tcp.Batch, from int) {
			for i := range values {
				values[i] = parquet.Int64Value(b.TimeNs[from+i])
			}
		},
	}}
	if meta.hasWall() {
		columns = append(columns, sampleColumn{
			name: "time", node: integer(parquet.Timestamp(parquet.Nanosecond)),
			fill: func(values []parquet.Value, b *tcp.Batch, from int) {
				for i := range values {
					values[i] = parquet.Int64Value(meta.wallNs(b.TimeNs[from+i]))
				}
			},
		})
	}
	for _, f := range fields {
		c := sampleColumn{name: f.String(), fill: fillField(f, len(columns))}
		bits := 64
		if isNarrow(f) {
			bits = 32
		}
		c.node = parquet.Optional(integer(parquet.Int(bits)))
		columns = append(columns, c)
	}
	return columns
}

// fillField reads a field, Absent as null. An optional value carries definition level 1 when it is
// there. Most fields repeat their last value, and copying that is several times cheaper than making
// it anew.
func fillField(f tcp.Field, column int) func([]parquet.Value, *tcp.Batch, int) {
	null := parquet.NullValue().Level(0, 0, column)
	narrow := isNarrow(f)
	fill := func(values []parquet.Value, fields []int64) {
		last := int64(tcp.Absent)
		lastValue := null
		for i, v := range fields {
			if v != last {
				switch {
				case v == tcp.Absent:
					lastValue = null
				case narrow:
					lastValue = parquet.Int32Value(int32(v)).Level(0, 1, column)
				default:
					lastValue = parquet.Int64Value(v).Level(0, 1, column)
				}
				last = v
			}
			values[i] = lastValue
		}
	}
	if !f.Computed() {
		return func(values []parquet.Value, b *tcp.Batch, from int) { fill(values, b.Cols[f][from:from+len(values)]) }
	}
	var fields []int64 // a column is filled by one goroutine at a time
	return func(values []parquet.Value, b *tcp.Batch, from int) {
		fields = fields[:0]
		for i := range values {
			fields = append(fields, b.At(f, from+i))
		}
		fill(values, fields)
	}
}

// isNarrow reports whether 32 bits hold the field. pandas and DuckDB then need not widen it.
func isNarrow(f tcp.Field) bool {
	k := f.Info().Kind
	return k == tcp.Enum || k == tcp.Flag
}
