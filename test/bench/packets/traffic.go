package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
)

// Traffic of the capture that the benchmark makes: bulk uploads with losses, and short connections.
const (
	bulkFlows     = 32
	shortEvery    = 2000 // packets from one short connection to the next
	segmentData   = 1448
	capturedBytes = 160 // tcpdump -s 160
	windowTicks   = 40  // rounds from a segment to its ACK
	lossOneIn     = 400 // segments
	startSeconds  = 1_700_000_000
)

// capture writes packets as tcpdump -s 160 does at the client, until it has a size.
type capture struct {
	out     *bufio.Writer
	written int64
	packets int
	nowUs   int64
	record  []byte
	random  *rand.Rand
}

// writeCapture writes a capture of at least a number of bytes. Equal sizes give equal captures.
func writeCapture(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := makeCapture(f, size); err != nil {
		f.Close()
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return f.Close()
}

func makeCapture(w io.Writer, size int64) error {
	c := &capture{out: bufio.NewWriterSize(w, 1<<20), random: rand.New(rand.NewPCG(1, 2))}
	head := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	head = append(head, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	head = binary.LittleEndian.AppendUint32(head, capturedBytes)
	if _, err := c.out.Write(binary.LittleEndian.AppendUint32(head, 1)); err != nil {
		return err
	}
	c.written = int64(len(head)) + 4
	var flows [bulkFlows]bulk
	for i := range flows {
		flows[i] = bulk{ends: ends{ports: [2]uint16{uint16(40_000 + i), 5201}, seq: [2]uint32{c.random.Uint32(), 1}}}
		flows[i].ends.open(c)
	}
	short := 0
	for c.written < size {
		if err := flows[c.random.IntN(bulkFlows)].tick(c); err != nil {
			return err
		}
		if c.packets/shortEvery > short {
			short++
			e := ends{ports: [2]uint16{uint16(1024 + short%30_000), 80}, seq: [2]uint32{c.random.Uint32(), 7}}
			e.exchange(c)
		}
	}
	return c.out.Flush()
}

// ends are the ports and next sequence numbers of client and server.
type ends struct {
	ports [2]uint16
	seq   [2]uint32
}

const (
	fin = 1
	syn = 2
	ack = 16
)

// send writes a segment. The end moves on by its data.
func (e *ends) send(c *capture, from int, flags byte, seq, acked uint32, data int, options ...byte) {
	c.nowUs += 1 + int64(c.random.IntN(4))
	options = append([]byte{1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2}, options...)
	for len(options)%4 != 0 {
		options = append(options, 1)
	}
	length := 14 + 20 + 20 + len(options) + data
	b := binary.LittleEndian.AppendUint32(c.record[:0], uint32(startSeconds+c.nowUs/1e6))
	b = binary.LittleEndian.AppendUint32(b, uint32(c.nowUs%1e6))
	b = binary.LittleEndian.AppendUint32(b, uint32(min(length, capturedBytes)))
	b = binary.LittleEndian.AppendUint32(b, uint32(length))
	b = append(b, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0)
	b = append(b, 0x45, 0, byte((length-14)>>8), byte(length-14), 0, 1, 0x40, 0, 64, 6, 0, 0)
	b = append(b, 10, 0, 0, byte(1+from), 10, 0, 0, byte(2-from))
	b = binary.BigEndian.AppendUint16(b, e.ports[from])
	b = binary.BigEndian.AppendUint16(b, e.ports[1-from])
	b = binary.BigEndian.AppendUint32(b, seq)
	b = binary.BigEndian.AppendUint32(b, acked)
	b = append(b, byte(20+len(options))<<2, flags, 0x20, 0, 0, 0, 0, 0)
	b = append(b, options...)
	b = append(b, make([]byte, max(0, 16+min(length, capturedBytes)-len(b)))...)
	c.record = b
	_, _ = c.out.Write(b) // the error comes again with Flush
	c.written += int64(len(b))
	c.packets++
}

// open writes a handshake.
func (e *ends) open(c *capture) {
	offer := []byte{2, 4, 5, 180, 3, 3, 9, 4, 2}
	e.send(c, 0, syn, e.seq[0], 0, 0, offer...)
	e.send(c, 1, syn|ack, e.seq[1], e.seq[0]+1, 0, offer...)
	e.seq[0]++
	e.seq[1]++
	e.send(c, 0, ack, e.seq[0], e.seq[1], 0)
}

// exchange writes a short connection: a request, a response, and both ends.
func (e *ends) exchange(c *capture) {
	e.open(c)
	e.send(c, 0, ack, e.seq[0], e.seq[1], 300)
	e.seq[0] += 300
	for range 3 {
		e.send(c, 1, ack, e.seq[1], e.seq[0], segmentData)
		e.seq[1] += segmentData
	}
	e.send(c, 0, ack|fin, e.seq[0], e.seq[1], 0)
	e.send(c, 1, ack|fin, e.seq[1], e.seq[0]+1, 0)
	e.send(c, 0, ack, e.seq[0]+1, e.seq[1]+1, 0)
}

// bulk is an upload. One segment may be missing at a time.
type bulk struct {
	ends
	onWay   []segment
	round   int
	hole    uint32 // first byte of the missing segment
	missing bool
	dups    int
	acked   uint32
	pending int // segments without ACK
}

type segment struct {
	seq   uint32
	round int
	lost  bool
}

// tick sends two segments, and lets those of a round before arrive.
func (f *bulk) tick(c *capture) error {
	f.round++
	for range 2 {
		lost := !f.missing && c.random.IntN(lossOneIn) == 0
		if lost {
			f.missing = true
			f.hole = f.seq[0]
			f.dups = 0
		}
		f.send(c, 0, ack, f.seq[0], f.seq[1], segmentData)
		f.onWay = append(f.onWay, segment{f.seq[0], f.round, lost})
		f.seq[0] += segmentData
	}
	for len(f.onWay) > 0 && f.onWay[0].round+windowTicks <= f.round {
		s := f.onWay[0]
		f.onWay = slices.Delete(f.onWay, 0, 1)
		f.arrive(c, s)
	}
	return nil
}

// arrive makes the receiver answer: every second segment, and each behind a missing one.
func (f *bulk) arrive(c *capture, s segment) {
	end := s.seq + segmentData
	switch {
	case s.lost:
	case f.missing && s.seq == f.hole: // sent again
		f.missing = false
		f.pending = 0
		f.acked = f.onWayFrom()
		f.send(c, 1, ack, f.seq[1], f.acked, 0)
	case f.missing && int32(s.seq-f.hole) > 0:
		block := binary.BigEndian.AppendUint32([]byte{5, 10}, f.hole+segmentData)
		f.send(c, 1, ack, f.seq[1], f.hole, 0, binary.BigEndian.AppendUint32(block, end)...)
		f.dups++
		if f.dups == 3 {
			f.send(c, 0, ack, f.hole, f.seq[1], segmentData)
			f.onWay = append(f.onWay, segment{f.hole, f.round, false})
		}
	default:
		f.acked = end
		f.pending++
		if f.pending == 2 {
			f.pending = 0
			f.send(c, 1, ack, f.seq[1], end, 0)
		}
	}
}

// onWayFrom is the first byte that has not arrived.
func (f *bulk) onWayFrom() uint32 {
	first := f.seq[0]
	for _, s := range f.onWay {
		if int32(s.seq-first) < 0 {
			first = s.seq
		}
	}
	return first
}
