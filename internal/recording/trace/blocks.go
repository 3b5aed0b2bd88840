package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// window is the number of bytes of the file that are read at once.
const window = 1 << 18

// blocks reads the blocks of a file one after the other, and finds the next whole one behind a
// damaged place.
type blocks struct {
	file   io.ReaderAt
	size   int64
	offset int64 // file offset of the next block
	damage Damage

	ctx context.Context
	// unchecked is the number of bytes that may still be checked in search of a whole block.
	unchecked int64

	buf      []byte // part of the file, from bufStart
	bufStart int64
}

// newBlocks starts at the beginning of a file. The context interrupts a search for a whole block.
func newBlocks(ctx context.Context, file io.ReaderAt, size int64) blocks {
	return blocks{file: file, size: size, ctx: ctx, unchecked: freeChecked + checkedRatio*size}
}

// at returns n bytes of the file, fewer at its end. They are valid until the next call.
func (b *blocks) at(offset int64, n int) ([]byte, error) {
	n = int(min(int64(n), b.size-offset))
	if n <= 0 {
		return nil, nil
	}
	if offset < b.bufStart || offset+int64(n) > b.bufStart+int64(len(b.buf)) {
		want := int(min(max(int64(n), window), b.size-offset))
		if cap(b.buf) < want {
			b.buf = make([]byte, want)
		}
		b.buf = b.buf[:want]
		got, err := b.file.ReadAt(b.buf, offset)
		b.buf = b.buf[:got]
		b.bufStart = offset
		if got < n {
			if err == io.EOF { // the file has become shorter
				b.size = offset + int64(got)
				return b.buf, nil
			}
			return nil, fmt.Errorf("reading trace: %w", err)
		}
	}
	from := offset - b.bufStart
	return b.buf[from : from+int64(n)], nil
}

// next returns the next block with an undamaged header. The payload is not read yet and may be
// damaged. After the last block, next returns io.EOF.
func (b *blocks) next() (header, error) {
	for b.offset < b.size {
		if b.ctx.Err() != nil {
			return header{}, errInterrupted
		}
		head, err := b.at(b.offset, headerLen)
		if err != nil {
			return header{}, err
		}
		h, ok := parseHeader(head)
		switch {
		case ok && b.offset+headerLen+int64(h.payloadLen) <= b.size:
			return h, nil
		case ok:
			err = b.resync(b.offset, "the block is longer than the file", true)
		case len(head) < headerLen && bytes.HasPrefix(head, []byte(marker)[:min(len(head), len(marker))]):
			err = b.resync(b.offset, "", true)
		default:
			err = b.resync(b.offset, "no whole block starts here", false)
		}
		if err != nil {
			return header{}, err
		}
	}
	return header{}, io.EOF
}

// payload returns the payload of the block that next has returned, and goes on behind it. When it
// is damaged, then it goes on at the next whole block, and ok is false.
func (b *blocks) payload(h *header) (p []byte, ok bool, err error) {
	p, err = b.at(b.offset+headerLen, int(h.payloadLen))
	if err != nil {
		return nil, false, err
	}
	if len(p) < int(h.payloadLen) || checksum(p) != h.payloadSum {
		return nil, false, b.resync(b.offset, "the block's checksum does not hold", false)
	}
	b.skip(h)
	return p, true, nil
}

// skip goes on behind the block.
func (b *blocks) skip(h *header) { b.offset += headerLen + int64(h.payloadLen) }

// resync continues at the next undamaged block behind from and records the bytes between as
// damaged. If there is no such block and tail is set, resync records the rest of the file as an
// incomplete block. A killed recording leaves such a block.
func (b *blocks) resync(from int64, reason string, tail bool) error {
	search := from + 1
	for b.unchecked > 0 {
		if b.ctx.Err() != nil {
			return errInterrupted
		}
		search = min(b.dataFrom(search), b.size)
		part, err := b.at(search, window)
		if err != nil {
			return err
		}
		at := bytes.Index(part, []byte(marker))
		if at < 0 {
			if search+int64(len(part)) >= b.size {
				break
			}
			search += int64(len(part) - len(marker) + 1)
			continue
		}
		search += int64(at)
		whole, err := b.whole(search)
		if err != nil {
			return err
		}
		if whole {
			b.damage.skip(from, search, reason)
			b.offset = search
			return nil
		}
		search++
	}
	switch {
	case b.unchecked <= 0:
		b.damage.skip(from, b.size, "too many damaged blocks")
	case tail:
		b.damage.TailBytes = b.size - from
	default:
		b.damage.skip(from, b.size, reason)
	}
	b.offset = b.size
	return nil
}

// dataFrom returns the next offset of a file that is no hole. A hole has no block, and reading one
// of a TB would take minutes. Where the file system knows no holes, it returns the offset.
func (b *blocks) dataFrom(offset int64) int64 {
	f, ok := b.file.(*os.File)
	if !ok {
		return offset
	}
	from, err := f.Seek(offset, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO): // nothing but a hole
		return b.size
	case err != nil || from < offset:
		return offset
	}
	return from
}

// whole reports whether an undamaged block starts at offset.
func (b *blocks) whole(offset int64) (bool, error) {
	head, err := b.at(offset, headerLen)
	if err != nil {
		return false, err
	}
	h, ok := parseHeader(head)
	if !ok {
		return false, nil
	}
	if offset+headerLen+int64(h.payloadLen) > b.size {
		return false, nil
	}
	b.unchecked -= int64(h.payloadLen)
	p, err := b.at(offset+headerLen, int(h.payloadLen))
	return err == nil && len(p) == int(h.payloadLen) && checksum(p) == h.payloadSum, err
}
