package export

import (
	"reflect"
	"strconv"
	"strings"

	"airtide/internal/tcp"
	"airtide/internal/units"
)

// csvTables writes the tables as RFC 4180 text with a header line. A missing value is an empty
// cell. An unwanted table has no output.
type csvTables struct {
	meta    *Meta
	flows   flowTable
	lost    lossWatch
	fields  []tcp.Field
	clock   wallClock
	samples *output
	events  *csvTable[eventRow]
	flowOut *csvTable[flowRow]
	radio   *csvTable[radioRow]
	line    []byte
	row     tcp.Sample
}

func newCSV(files *outputs, path string, meta *Meta, o *Options) (encoder, error) {
	c := &csvTables{meta: meta, flows: newFlowTable(o), fields: o.fields(), clock: wallClock{meta: meta}}
	tables := map[Table]*output{}
	var err error
	if isStream(path) {
		only := o.Table
		if only == "" {
			only = Samples
		}
		tables[only], err = files.create(path)
	} else {
		tables, err = files.createTables(path, ".csv", o)
	}
	if err != nil {
		return nil, err
	}
	if events := tables[Events]; events != nil {
		c.events = newCSVTable[eventRow](events)
	}
	if flows := tables[Flows]; flows != nil {
		c.flowOut = newCSVTable[flowRow](flows)
	}
	if radio := tables[Radio]; radio != nil {
		c.radio = newCSVTable[radioRow](radio)
	}
	c.samples = tables[Samples]
	if c.samples != nil {
		_, err = c.samples.WriteString(c.header())
	}
	return c, err
}

func (c *csvTables) header() string {
	names := []string{"flow", "time_ns"}
	if c.meta.hasWall() {
		names = append(names, "time")
	}
	for _, f := range c.fields {
		names = append(names, f.String())
	}
	return strings.Join(names, ",") + "\n"
}

func (c *csvTables) Flow(f *tcp.Flow) error {
	c.flows.put(f)
	return nil
}

func (c *csvTables) Samples(b *tcp.Batch) error {
	if c.samples == nil {
		return nil
	}
	for i := range b.Len() {
		b.Row(i, &c.row)
		line := strconv.AppendUint(c.line[:0], uint64(c.row.Flow), 10)
		line = strconv.AppendInt(append(line, ','), c.row.TimeNs, 10)
		if c.meta.hasWall() {
			line = c.clock.append(append(line, ','), c.row.TimeNs)
		}
		for _, f := range c.fields {
			line = append(line, ',')
			if v := c.row.Values[f]; v != tcp.Absent {
				line = strconv.AppendInt(line, v, 10)
			}
		}
		c.line = append(line, '\n')
		if _, err := c.samples.Write(c.line); err != nil {
			return err
		}
	}
	return nil
}

func (c *csvTables) Event(e *tcp.Event) error {
	if c.events == nil {
		return nil
	}
	return c.events.write(newEventRow(e, c.meta))
}

func (c *csvTables) Lost(l *tcp.Loss) error {
	if c.events == nil || !c.lost.grown(l) {
		return nil
	}
	return c.events.write(newLostRow(l, c.meta))
}

func (c *csvTables) Radio(r *tcp.Radio) error {
	if c.radio == nil {
		return nil
	}
	return c.radio.write(newRadioRow(r, c.meta))
}

func (c *csvTables) finish() error {
	if c.radio != nil {
		if err := c.radio.close(); err != nil {
			return err
		}
	}
	if c.flowOut != nil {
		for _, f := range c.flows.sorted() {
			if err := c.flowOut.write(newFlowRow(f, c.meta)); err != nil {
				return err
			}
		}
		if err := c.flowOut.close(); err != nil {
			return err
		}
	}
	if c.events != nil {
		return c.events.close()
	}
	return nil
}

// csvTable writes rows. The parquet tags name its columns.
type csvTable[Row any] struct {
	writer  *units.CSV
	columns []csvColumn
	cells   []string
}

type csvColumn struct {
	field     int
	timestamp bool
}

func newCSVTable[Row any](out *output) *csvTable[Row] {
	t := &csvTable[Row]{writer: units.NewCSV(out)}
	var header []string
	for i, f := range reflect.VisibleFields(reflect.TypeFor[Row]()) {
		name, kind, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		if name == "-" {
			continue
		}
		header = append(header, name)
		t.columns = append(t.columns, csvColumn{field: i, timestamp: strings.HasPrefix(kind, "timestamp")})
	}
	t.cells = make([]string, len(header))
	_ = t.writer.Row(header...) // an error stays with the writer until close
	return t
}

func (t *csvTable[Row]) write(r *Row) error {
	v := reflect.ValueOf(r).Elem()
	for i, c := range t.columns {
		t.cells[i] = c.cell(v.Field(c.field))
	}
	return t.writer.Row(t.cells...)
}

func (c csvColumn) cell(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch {
	case c.timestamp:
		return formatWall(v.Int())
	case v.CanInt():
		return formatInt(v.Int())
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	}
	return v.String()
}

func (t *csvTable[Row]) close() error {
	return t.writer.Flush()
}
