package trace

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"airtide/internal/sys/file"
	"airtide/internal/tcp"
)

// Reader reads a recording. If the recording is still being written, a scan delivers the data
// written so far.
type Reader struct {
	path        string
	file        *os.File // nil when the bytes come from elsewhere
	source      io.ReaderAt
	size        int64
	description description
	damage      Damage
}

// Open opens a recording. Scan finds damage inside it.
func Open(path string) (*Reader, error) {
	f, err := file.Open(path)
	if err != nil {
		return nil, ofFile(path, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, ofFile(path, err)
	}
	return openFile(path, f, info.Size())
}

// OpenStream reads a recording to the end of a stream, such as a pipe, and opens it. A stream that
// was cut is a recording up to the cut. The name is for messages. The data is kept in a temporary
// file that has no name.
func OpenStream(ctx context.Context, name string, stream io.Reader) (*Reader, error) {
	f, err := file.Temporary()
	if err != nil {
		return nil, fmt.Errorf("keeping %s: %w", name, err)
	}
	size, err := spool(ctx, f, stream)
	if err != nil {
		f.Close()
		return nil, ofFile(name, err)
	}
	return openFile(name, f, size)
}

// spool copies a stream until the context ends. The read of a pipe cannot be interrupted: it is
// left behind, for the program ends then.
func spool(ctx context.Context, to io.Writer, stream io.Reader) (size int64, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		size, err = io.Copy(to, stream)
	}()
	select {
	case <-done:
		return size, err
	case <-ctx.Done():
		return 0, errInterrupted
	}
}

func openFile(path string, f *os.File, size int64) (*Reader, error) {
	r, err := newReader(path, f, size)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.file = f
	return r, nil
}

// newReader finds the file's description: the first header block that is whole.
func newReader(path string, source io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{path: path, source: source, size: size}
	if size == 0 {
		return nil, ofFile(path, ErrEmpty)
	}
	b := newBlocks(context.Background(), source, size)
	start, err := b.at(0, headerLen)
	if err != nil {
		return nil, err
	}
	future, isFuture := futureVersion(start)
	foreign := string(start[:min(len(start), len(marker))]) != marker[:min(len(start), len(marker))]
	known := false // a block of this format has been seen
	for {
		h, err := b.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		known = true
		if h.kind != blockHeader {
			b.skip(&h)
			continue
		}
		payload, ok, err := b.payload(&h)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if err := r.describe(payload); err != nil {
			return nil, ofFile(path, err)
		}
		return r, nil
	}
	switch {
	case known:
		return nil, fmt.Errorf("%s: %w: both of its header blocks are damaged", path, errMetadata)
	case isFuture:
		return nil, &VersionError{Path: path, Major: future}
	case foreign:
		return nil, ofFile(path, ErrForeign)
	}
	return nil, ofFile(path, ErrEmpty)
}

// describe reads the payload of a header block.
func (r *Reader) describe(payload []byte) error {
	text, err := decompress(nil, payload, maxDescription)
	if err != nil {
		return fmt.Errorf("%w: %w", errMetadata, err)
	}
	if err := json.Unmarshal(text, &r.description); err != nil {
		return fmt.Errorf("%w: %w", errMetadata, err)
	}
	_, err = newSamplesDecoder(r.description.Columns)
	return err
}

// Metadata describes how the recording was made.
func (r *Reader) Metadata() Metadata { return r.description.Metadata }

// Fields lists the file's columns as fields. Columns that this version does not know are left out.
func (r *Reader) Fields() []tcp.Field {
	var fields []tcp.Field
	for _, c := range r.description.Columns {
		if f, ok := tcp.FieldByName(c.Name); ok && !f.Computed() {
			fields = append(fields, f)
		}
	}
	return fields
}

// Size is the length of the file in bytes.
func (r *Reader) Size() int64 {
	if r.file != nil {
		if info, err := r.file.Stat(); err == nil {
			r.size = info.Size()
		}
	}
	return r.size
}

// Close closes the file.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Damage lists the parts that the last scan could not read.
func (r *Reader) Damage() Damage { return r.damage }

// Totals returns the recording's totals without a scan. It reports false if the recording was not
// ended cleanly; then only a scan can count.
func (r *Reader) Totals() (Totals, bool) {
	var t Totals
	size := r.Size()
	b := newBlocks(context.Background(), r.source, size)
	// The end block is short and comes last, so it has the last marker that starts an undamaged
	// block.
	for b.offset = max(0, size-window); ; {
		h, err := b.next()
		if err != nil {
			return t, false
		}
		if h.kind != blockEnd {
			b.skip(&h)
			continue
		}
		payload, ok, err := b.payload(&h)
		if err != nil || !ok {
			return t, false
		}
		text, err := decompress(nil, payload, maxDecoded)
		return t, err == nil && json.Unmarshal(text, &t) == nil && b.offset == size
	}
}
