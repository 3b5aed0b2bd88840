package export

import (
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"airtide/internal/tcp"
)

// parquetTables writes the tables. An unwanted table has no output. Events, flows and records about
// radios are few, so they go row by row through the library's reflection. Samples go column by
// column (parquet_samples.go).
type parquetTables struct {
	meta    *Meta
	flows   flowTable
	lost    lossWatch
	samples *parquetSamples
	events  *parquet.GenericWriter[eventRow]
	radio   *parquet.GenericWriter[radioRow]
	flowOut *output
	options []parquet.WriterOption
}

// eventRowGroupRows bounds the memory that events take before they are written.
const eventRowGroupRows = 1 << 17

func newParquet(files *outputs, path string, meta *Meta, o *Options) (encoder, error) {
	if isStream(path) {
		return nil, errParquetStream
	}
	tables, err := files.createTables(path, ".parquet", o)
	if err != nil {
		return nil, err
	}
	options := []parquet.WriterOption{
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.CreatedBy("airtide", meta.Tool, ""),
	}
	for _, kv := range metaPairs(meta) {
		options = append(options, parquet.KeyValueMetadata("airtide."+kv[0], kv[1]))
	}
	options = slices.Clip(options) // both writers append to them
	p := &parquetTables{meta: meta, flows: newFlowTable(o), flowOut: tables[Flows], options: options}
	if samples := tables[Samples]; samples != nil {
		p.samples = newParquetSamples(samples, meta, o.fields(), options)
	}
	if events := tables[Events]; events != nil {
		p.events = parquet.NewGenericWriter[eventRow](
			events, append(options, parquet.MaxRowsPerRowGroup(eventRowGroupRows))...,
		)
	}
	if radio := tables[Radio]; radio != nil {
		p.radio = parquet.NewGenericWriter[radioRow](
			radio, append(options, parquet.MaxRowsPerRowGroup(eventRowGroupRows))...,
		)
	}
	return p, nil
}

func (p *parquetTables) Flow(f *tcp.Flow) error {
	p.flows.put(f)
	return nil
}

func (p *parquetTables) Samples(b *tcp.Batch) error {
	if p.samples == nil {
		return nil
	}
	return p.samples.write(b)
}

func (p *parquetTables) Event(e *tcp.Event) error {
	if p.events == nil {
		return nil
	}
	return p.writeEvent(newEventRow(e, p.meta))
}

func (p *parquetTables) Lost(l *tcp.Loss) error {
	if p.events == nil || !p.lost.grown(l) {
		return nil
	}
	return p.writeEvent(newLostRow(l, p.meta))
}

func (p *parquetTables) writeEvent(r *eventRow) error {
	_, err := p.events.Write([]eventRow{*r})
	return err
}

func (p *parquetTables) Radio(r *tcp.Radio) error {
	if p.radio == nil {
		return nil
	}
	_, err := p.radio.Write([]radioRow{*newRadioRow(r, p.meta)})
	return err
}

func (p *parquetTables) finish() error {
	if p.radio != nil {
		if err := p.radio.Close(); err != nil {
			return err
		}
	}
	if p.samples != nil {
		if err := p.samples.close(); err != nil {
			return err
		}
	}
	if p.events != nil {
		if err := p.events.Close(); err != nil {
			return err
		}
	}
	if p.flowOut == nil {
		return nil
	}
	flows := parquet.NewGenericWriter[flowRow](p.flowOut, p.options...)
	for _, f := range p.flows.sorted() {
		if _, err := flows.Write([]flowRow{*newFlowRow(f, p.meta)}); err != nil {
			return err
		}
	}
	return flows.Close()
}
