// Package records makes the records of a recording from any bytes, for fuzz tests of sinks.
package records

import (
	"encoding/binary"
	"net/netip"

	"airtide/internal/tcp"
)

// Feed passes records to a sink until the bytes end or the sink fails. Identifiers, times, values,
// kinds and texts may have any value.
func Feed(data []byte, to tcp.Sink) error {
	f := feeder{data: data, batch: tcp.NewBatch(1)}
	for len(f.data) > 0 {
		var err error
		switch f.octet() % 4 {
		case 0:
			err = to.Flow(f.flow())
		case 1, 2:
			for range f.octet()%8 + 1 {
				f.batch.Append(f.sample())
			}
			err = to.Samples(f.batch)
			f.batch.Reset()
		case 3:
			err = to.Event(f.event())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type feeder struct {
	data  []byte
	batch *tcp.Batch
}

func (f *feeder) octet() (b byte) {
	if len(f.data) > 0 {
		b = f.data[0]
		f.data = f.data[1:]
	}
	return b
}

// number reads a varint. Short bytes give small numbers.
func (f *feeder) number() int64 {
	n, size := binary.Varint(f.data)
	if size <= 0 {
		f.data = nil
		return 0
	}
	f.data = f.data[size:]
	return n
}

func (f *feeder) text() string {
	n := min(int(f.octet()), len(f.data))
	text := string(f.data[:n])
	f.data = f.data[n:]
	return text
}

func (f *feeder) address() netip.AddrPort {
	n := f.number()
	switch n % 3 {
	case 0:
		return netip.AddrPort{}
	case 1:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}), uint16(n>>8))
	default:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte{0x20, 1, byte(n)}), uint16(n>>8))
	}
}

func (f *feeder) flow() *tcp.Flow {
	return &tcp.Flow{
		ID: tcp.FlowID(f.number()), Local: f.address(), Remote: f.address(), FirstNs: f.number(),
		PID: uint32(f.number()), Comm: f.text(), CgroupPath: f.text(), CongestionControl: f.text(),
	}
}

func (f *feeder) sample() *tcp.Sample {
	s := &tcp.Sample{Flow: tcp.FlowID(f.number()), TimeNs: f.number()}
	for field := range s.Values {
		s.Values[field] = tcp.Absent
	}
	for range f.octet() % 16 {
		s.Values[int(f.octet())%tcp.NumFields] = f.number()
	}
	return s
}

func (f *feeder) event() *tcp.Event {
	return &tcp.Event{
		Flow: tcp.FlowID(f.number()), TimeNs: f.number(), Kind: tcp.EventKind(f.octet()),
		Code: tcp.ErrorCode(f.octet()), CAState: tcp.CAState(f.octet()), From: f.octet(), To: f.octet(),
		Reason: tcp.Reason(f.octet()), Cause: tcp.Cause(f.octet()), NumBlocks: f.octet(), Value: f.number(),
		Seq: f.number(), EndSeq: f.number(), CwndPackets: uint32(f.number()), Text: f.text(),
	}
}

// Seeds are bytes that give records of all kinds.
func Seeds() [][]byte {
	flow := append([]byte{0, 2, 3, 4, 0, 14, 5}, "iperf\x00\x05cubic"...)
	samples := []byte{1, 2, 2, 10, 3, 0, 9, 1, 8, 20, 200, 3, 2, 90, 3, 0, 99, 1, 88, 20, 127}
	event := append([]byte{3, 2, 200, 1, 5, 2, 1, 0, 3, 1, 1, 2, 9, 8, 7, 6, 2}, "\x1b["...)
	extreme := binary.AppendVarint([]byte{1, 0, 2}, 1<<63-1)
	extreme = append(binary.AppendVarint(append(extreme, 2, 4), -1<<63), 5, 0)
	all := append(append(append([]byte(nil), flow...), samples...), event...)
	return [][]byte{nil, flow, samples, event, extreme, all, append(append([]byte(nil), all...), all...)}
}
