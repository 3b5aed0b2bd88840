package read

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"airtide/internal/sys/file"
)

// LinkType is the kind of the first header of a packet, by its number at tcpdump.org.
type LinkType uint16

// Packet is one captured packet.
type Packet struct {
	Number uint64 // counts from 1 in the order of the capture
	TimeNs int64  // ns since 1970 UTC
	Data   []byte // the captured bytes; valid until the next call of Next
	Length int    // bytes on the wire
	Link   LinkType
	// Interface is the number of the interface in a pcapng, from 0 in each section.
	Interface int
}

// Limits of hostile captures.
const (
	maxPacket     = 1 << 20 // bytes of a packet; BIG TCP reaches 512 KiB
	maxOptions    = 1 << 20 // bytes of a description of an interface or section
	maxInterfaces = 1 << 16
	maxWindow     = 32 << 20 // memory of a zstd decoder; levels up to 20 need no more

	// freeBytes is the size above which a compressed capture may expand only as far as gzip can.
	freeBytes    = 1 << 28
	maxExpansion = 1100
	// freePackets is the number above which each packet needs compressedBytes. Headers of real
	// traffic need 8 and more.
	freePackets     = 1 << 17
	compressedBytes = 4
)

// Damage is the place where a capture stops being readable.
type Damage struct {
	Name    string
	Packet  uint64 // the last packet before the place; 0 if there is none
	Offset  int64  // start of the unreadable part, in uncompressed bytes
	Problem string
	// Cut is true if the capture only ends early, as when its writer was killed.
	Cut bool
}

// Error names the file, the place and the problem.
func (d *Damage) Error() string {
	return fmt.Sprintf("%s: %s at byte %d, behind packet %d", d.Name, d.Problem, d.Offset, d.Packet)
}

// Reader reads a capture.
type Reader struct {
	name   string
	window window
	next   func(*Packet) error
	close  []func()
	number uint64
	// lastNs is the time of the last packet. Simple packet blocks have no time of their own.
	lastNs int64

	order       binary.ByteOrder
	nanoseconds bool
	recordBytes int // size of the header of a pcap record
	link        LinkType
	interfaces  []networkInterface
	read        atomic.Int64
	size        int64
	compressed  bool
}

// Open opens a capture, which may be a pipe; "-" is standard input. It waits for the writer of a
// pipe. An error names the file.
func Open(path string) (*Reader, error) {
	if path == "-" {
		return New(os.Stdin, "standard input")
	}
	f, err := file.OpenStream(context.Background(), path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	r, err := New(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.close = append(r.close, func() { f.Close() })
	if info.Mode().IsRegular() {
		r.size = info.Size()
	}
	return r, nil
}

// New reads a capture from a stream. The name stands in errors.
func New(in io.Reader, name string) (*Reader, error) {
	r := &Reader{name: name}
	counted := &counter{in: in, n: &r.read}
	head := make([]byte, 4)
	n, err := io.ReadFull(counted, head)
	if n == 0 && errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: is empty", name)
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	stream := io.MultiReader(bytes.NewReader(head[:n]), counted)
	r.window.in, err = r.unpack(head[:n], stream)
	if err == nil {
		err = r.start()
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// unpack removes a compression.
func (r *Reader) unpack(head []byte, in io.Reader) (io.Reader, error) {
	r.compressed = true
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(bufio.NewReaderSize(in, 1<<16))
		if err != nil {
			return nil, fmt.Errorf("%s: gzip: %w", r.name, err)
		}
		return z, nil
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("%s: zstd: %w", r.name, err)
		}
		r.close = append(r.close, z.Close)
		return &expanded{in: z, from: &r.read}, nil
	}
	r.compressed = false
	return in, nil
}

// expanded is the stream of a zstd decoder. It refuses input that needs much memory or expands
// without end, and its error names a remedy.
type expanded struct {
	in    io.Reader
	bytes int64
	from  *atomic.Int64 // compressed bytes
}

func (e *expanded) Read(p []byte) (int, error) {
	n, err := e.in.Read(p)
	e.bytes += int64(n)
	switch {
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		err = fmt.Errorf("zstd needs more than %d MiB of memory; give the output of zstd -dc --long=31", maxWindow>>20)
	case e.bytes > freeBytes && e.bytes/maxExpansion > e.from.Load():
		err = fmt.Errorf("zstd expands more than %d-fold; give the output of zstd -dc", maxExpansion)
	}
	return n, err
}

// start recognises the format.
func (r *Reader) start() error {
	head, err := r.window.peek(4)
	if err != nil {
		return r.foreign(err)
	}
	if binary.BigEndian.Uint32(head) == sectionBlock {
		r.next = r.nextBlock
		return r.readSection()
	}
	r.next = r.nextRecord
	return r.readHeader(head)
}

// otherFormats are files that are taken for captures, by their first bytes.
var otherFormats = []struct{ start, what string }{
	{"\x89ATR", "is no capture but a recording of airtide: airtide info reads it"},
	{"snoop\x00", "is a capture of snoop" + convert},
	{"RTSS", netmon},
	{"GMBU", netmon},
	{"XCP\x00", "is a capture of Sniffer" + convert},
	{"TRSN", "is a capture of Sniffer" + convert},
	{"BZh", "is compressed by bzip2: give the output of bzip2 -dc"},
	{"\xfd7zX", "is compressed by xz: give the output of xz -dc"},
	{"\x04\x22\x4d\x18", "is compressed by lz4: give the output of lz4 -dc"},
	{"PK\x03\x04", "is a zip archive: give the capture in it"},
}

const (
	convert = ", which editcap -F pcapng IN OUT converts"
	netmon  = "is a capture of Network Monitor" + convert
)

// foreign is the error for a file that is no capture.
func (r *Reader) foreign(err error) error {
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	if head, err := r.window.peek(6); err == nil {
		for _, f := range otherFormats {
			if strings.HasPrefix(string(head), f.start) {
				return fmt.Errorf("%s: %s", r.name, f.what)
			}
		}
	}
	return fmt.Errorf("%s: is no capture: want pcap or pcapng, plain or in gzip or zstd", r.name)
}

// Next reads the next packet. It returns io.EOF at the end, and a *Damage where the capture is
// unreadable.
func (r *Reader) Next(p *Packet) error {
	if r.compressed && r.number >= freePackets+uint64(r.read.Load())/compressedBytes {
		return r.damage("more packets than a compressed capture of this size has; give it without compression", nil)
	}
	err := r.next(p)
	if err != nil {
		return err
	}
	r.number++
	r.lastNs = p.TimeNs
	p.Number = r.number
	return nil
}

// Progress returns the bytes read from the file, and its size; zero if it has no size. It may be
// called while another goroutine reads.
func (r *Reader) Progress() (read, size int64) { return r.read.Load(), r.size }

// Close ends the reading.
func (r *Reader) Close() {
	for _, f := range r.close {
		f()
	}
	r.close = nil
}

// damage is an error at the present place. An early end of the input is a cut.
func (r *Reader) damage(problem string, err error) error {
	d := &Damage{Name: r.name, Packet: r.number, Offset: r.window.offset, Problem: problem}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		d.Problem = problem + " is cut off"
		d.Cut = true
	default:
		d.Problem = err.Error()
	}
	return d
}

type counter struct {
	in io.Reader
	n  *atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// window is a buffer over a stream whose next bytes lie in one piece.
type window struct {
	in       io.Reader
	buffer   []byte
	from, to int
	offset   int64 // file offset of the byte at from
	err      error
}

const windowBytes = 1 << 18

// peek returns the next n bytes without consuming them. The error is io.EOF if no byte is left, and
// io.ErrUnexpectedEOF if fewer than n are left.
func (w *window) peek(n int) ([]byte, error) {
	if w.to-w.from < n {
		if err := w.fill(n); err != nil {
			return nil, err
		}
	}
	return w.buffer[w.from : w.from+n], nil
}

func (w *window) fill(n int) error {
	if n > len(w.buffer) {
		larger := make([]byte, max(n, windowBytes))
		w.to = copy(larger, w.buffer[w.from:w.to])
		w.buffer = larger
		w.from = 0
	} else if w.from > 0 {
		w.to = copy(w.buffer, w.buffer[w.from:w.to])
		w.from = 0
	}
	for empty := 0; w.to < n; {
		if w.err != nil {
			if w.to > 0 && errors.Is(w.err, io.EOF) {
				return io.ErrUnexpectedEOF
			}
			return w.err
		}
		var m int
		m, w.err = w.in.Read(w.buffer[w.to:])
		w.to += m
		empty++
		if m > 0 {
			empty = 0
		} else if empty > 100 {
			w.err = io.ErrNoProgress
		}
	}
	return nil
}

// skip consumes n bytes that a peek has returned.
func (w *window) skip(n int) {
	w.from += n
	w.offset += int64(n)
}

// discard consumes n bytes of any number.
func (w *window) discard(n int64) error {
	for n > 0 {
		if w.from == w.to {
			if err := w.fill(1); err != nil {
				return err
			}
		}
		m := int(min(n, int64(w.to-w.from)))
		w.skip(m)
		n -= int64(m)
	}
	return nil
}
