package export

import (
	"io"
	"runtime"
	"sync"

	"github.com/parquet-go/parquet-go"

	"airtide/internal/tcp"
)

// Sizes, in samples. Together they hold the memory to some 120 MB with all fields: two stages of
// 8-byte values, one page for each column, and the compressed pages of one row group. Only the
// index of pages, which stands at the end of the file, grows with the recording, by 2 bytes a
// sample.
const (
	stageRows    = 1 << 14 // encoded in one go, the columns shared among the processors
	rowGroupRows = 1 << 19 // DuckDB and Arrow read row groups in parallel and skip them by their statistics
)

// parquetSamples writes the table of samples. While one stage is being encoded in the background
// the caller fills the other, so that reading the recording and encoding overlap.
type parquetSamples struct {
	columns  []sampleColumn
	writer   *parquet.GenericWriter[any]
	rowGroup *parquet.ConcurrentRowGroupWriter
	grouped  int // rows in the row group so far

	rowGroupRows int // the constant, but smaller in tests

	filling, encoding *tcp.Batch
	encoded           chan error // delivers the outcome of encoding; nil while nothing is being encoded
}

// sampleColumn is a column: its place and how its values are read from a batch.
type sampleColumn struct {
	name string
	node parquet.Node
	fill func(values []parquet.Value, b *tcp.Batch, from int)
}

func newParquetSamples(out io.Writer, meta *Meta, fields []tcp.Field, options []parquet.WriterOption) *parquetSamples {
	p := &parquetSamples{
		columns: sampleColumns(meta, fields), rowGroupRows: rowGroupRows,
		filling: tcp.NewBatch(stageRows), encoding: tcp.NewBatch(stageRows),
	}
	group := orderedGroup{Group: parquet.Group{}}
	for _, c := range p.columns {
		group.Group[c.name] = c.node
		group.order = append(group.order, c.name)
	}
	p.writer = parquet.NewGenericWriter[any](out, append(options, parquet.NewSchema("samples", group))...)
	p.rowGroup = p.writer.BeginRowGroup()
	return p
}

// write copies the batch into stages and encodes each stage that gets full.
func (p *parquetSamples) write(b *tcp.Batch) error {
	for from := 0; from < b.Len(); {
		n := min(b.Len()-from, stageRows-p.filling.Len())
		appendRows(p.filling, b, from, from+n)
		from += n
		if p.filling.Len() == stageRows {
			if err := p.encodeStage(); err != nil {
				return err
			}
		}
	}
	return nil
}

func appendRows(dst, src *tcp.Batch, from, to int) {
	dst.TimeNs = append(dst.TimeNs, src.TimeNs[from:to]...)
	dst.Flow = append(dst.Flow, src.Flow[from:to]...)
	for f := range dst.Cols {
		dst.Cols[f] = append(dst.Cols[f], src.Cols[f][from:to]...)
	}
}

// encodeStage waits for the stage that is being encoded, writes the row group when it is full, and
// starts on the next.
func (p *parquetSamples) encodeStage() error {
	if err := p.wait(); err != nil {
		return err
	}
	if p.grouped >= p.rowGroupRows {
		if err := p.commit(); err != nil {
			return err
		}
	}
	p.filling, p.encoding = p.encoding, p.filling
	p.filling.Reset()
	p.grouped += p.encoding.Len()
	p.encoded = make(chan error, 1)
	go func(b *tcp.Batch, done chan<- error) { done <- p.encode(b) }(p.encoding, p.encoded)
	return nil
}

func (p *parquetSamples) wait() error {
	if p.encoded == nil {
		return nil
	}
	err := <-p.encoded
	p.encoded = nil
	return err
}

func (p *parquetSamples) commit() error {
	p.grouped = 0
	_, err := p.rowGroup.Commit()
	return err
}

// encode writes the columns of a stage. Columns are independent until the row group is committed,
// so each processor takes every n-th of them.
func (p *parquetSamples) encode(b *tcp.Batch) error {
	workers := min(runtime.GOMAXPROCS(0), len(p.columns))
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			values := make([]parquet.Value, min(b.Len(), valueRows))
			for i := w; i < len(p.columns) && errs[w] == nil; i += workers {
				errs[w] = p.encodeColumn(i, b, values)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// valueRows is how many values are converted at a time: few enough (24 bytes each) to stay in the
// second-level cache.
const valueRows = 2048

func (p *parquetSamples) encodeColumn(i int, b *tcp.Batch, values []parquet.Value) error {
	column := p.rowGroup.ColumnWriters()[i]
	for from := 0; from < b.Len(); from += len(values) {
		values = values[:min(len(values), b.Len()-from)]
		p.columns[i].fill(values, b, from)
		if _, err := column.WriteRowValues(values); err != nil {
			return err
		}
	}
	return nil
}

func (p *parquetSamples) close() error {
	if p.filling.Len() > 0 {
		if err := p.encodeStage(); err != nil {
			return err
		}
	}
	if err := p.wait(); err != nil {
		return err
	}
	if p.grouped > 0 {
		if err := p.commit(); err != nil {
			return err
		}
	}
	return p.writer.Close()
}
