package bpf

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"
	"unsafe"

	"airtide/internal/tcp"
)

// drop is a packet that this host dropped.
type drop struct {
	timeNs              int64
	source, destination netip.AddrPort
	seq                 uint32
	bytes               int64 // bytes of the stream, a SYN included
	netns               uint32
	text                string // reason and device
}

// ends are the addresses of a flow.
type ends struct{ local, remote netip.AddrPort }

// drops joins dropped packets with their flows.
type drops struct {
	reasons map[uint32]string
	flows   map[ends][]*flow
	// early are drops before their flow was known: those of a SYN.
	early []drop
}

const (
	maxEarly = 64
	// earlyTime is how long a drop waits for its flow.
	earlyTime = 5 * time.Second
)

// harmless are reasons for which a packet is freed that was not lost: its data is there already, or
// its connection has ended.
var harmless = []string{
	"tcp_old_data", "tcp_old_ack", "tcp_old_sequence", "tcp_ofomerge", "tcp_invalid_sequence", "tcp_reset", "tcp_close",
	"tcp_fastopen", "socket_close", "queue_purge", "tcp_abort_on_data", "tcp_rfc7323_paws", "consumed", "dup_frag",
	"packet_sock_error", "unhandled_proto", "promisc",
}

func newDrops(reasons map[uint32]string) *drops {
	return &drops{reasons: reasons, flows: map[ends][]*flow{}}
}

// read converts a drop_record. It is false for a harmless one.
func (d *drops) read(raw []byte) (drop, bool) {
	r := (*monitorDropRecord)(unsafe.Pointer(unsafe.SliceData(raw)))
	reason := d.reasons[r.Reason]
	if slices.Contains(harmless, reason) {
		return drop{}, false
	}
	if reason == "" && r.Reason != 0 {
		reason = fmt.Sprintf("reason_%d", r.Reason)
	}
	text := cmp.Or(reason, "no reason")
	if device := cString(r.Device[:]); device != "" {
		text += " at " + device
	}
	const flagSyn = 2
	bytes := int64(r.Payload)
	if r.TcpFlags&flagSyn != 0 {
		bytes++
	}
	address := func(a [16]uint8, port uint16) netip.AddrPort {
		return tcp.Unmap(netip.AddrPortFrom(addressOf(r.Family, a), port))
	}
	return drop{
		timeNs: int64(r.TimeNs), source: address(r.Source, r.SourcePort),
		destination: address(r.Destination, r.DestinationPort), seq: r.Seq, bytes: bytes, netns: r.Netns, text: text,
	}, true
}

// learn makes a flow known and returns its early drops.
func (d *drops) learn(f *flow) (events []tcp.Event) {
	e := endsOf(&f.flow)
	if slices.Contains(d.flows[e], f) {
		return nil
	}
	d.flows[e] = append(d.flows[e], f)
	for i := range d.early {
		if d.early[i].source == e.local && d.early[i].destination == e.remote {
			events = append(events, f.drop(&d.early[i], tcp.DirectionSent))
		}
	}
	d.early = slices.DeleteFunc(d.early, func(o drop) bool { return o.source == e.local && o.destination == e.remote })
	return events
}

func (d *drops) forget(f *flow) {
	e := endsOf(&f.flow)
	rest := slices.DeleteFunc(d.flows[e], func(o *flow) bool { return o == f })
	if len(rest) == 0 {
		delete(d.flows, e)
		return
	}
	d.flows[e] = rest
}

func endsOf(f *tcp.Flow) ends { return ends{tcp.Unmap(f.Local), tcp.Unmap(f.Remote)} }

// events are the events of a drop, for the flows of both ends as far as they are of this host.
func (d *drops) events(o drop) (events []tcp.Event) {
	for _, f := range d.flows[ends{o.source, o.destination}] {
		events = append(events, f.drop(&o, tcp.DirectionSent))
	}
	for _, f := range d.flows[ends{o.destination, o.source}] {
		events = append(events, f.drop(&o, tcp.DirectionReceived))
	}
	if len(events) == 0 {
		d.early = slices.DeleteFunc(d.early, func(e drop) bool { return o.timeNs-e.timeNs > earlyTime.Nanoseconds() })
		if len(d.early) < maxEarly {
			d.early = append(d.early, o)
		}
	}
	return events
}

// position is the place of a flow in its streams, and its window, by its last sample.
type position struct {
	acked, received int64
	sndUna, rcvNxt  uint32
	cwnd, ssthresh  uint32
	caState         uint8
	known           bool
}

// note takes the place from a sample.
func (f *flow) note(raw []byte) {
	s := (*monitorSampleRecord)(unsafe.Pointer(unsafe.SliceData(raw)))
	f.at = position{
		acked: int64(s.BytesAcked), received: int64(s.BytesReceived), sndUna: s.SndUna, rcvNxt: s.RcvNxt, cwnd: s.Cwnd,
		ssthresh: s.Ssthresh, caState: s.CaState, known: true,
	}
}

// drop is the event of a dropped packet.
func (f *flow) drop(o *drop, direction uint8) tcp.Event {
	e := tcp.Event{
		TimeNs: o.timeNs, Flow: f.flow.ID, Kind: tcp.EventDrop, From: direction, Value: o.bytes, Text: o.text,
		CAState: tcp.CAState(f.at.caState), CwndPackets: f.at.cwnd,
		SsthreshPackets: f.at.ssthresh, FromSample: f.at.known,
	}
	switch {
	case !f.at.known:
	case direction == tcp.DirectionSent:
		e.Seq = f.at.acked + int64(int32(o.seq-f.at.sndUna))
	default:
		e.Seq = f.at.received + int64(int32(o.seq-f.at.rcvNxt))
	}
	e.EndSeq = e.Seq + o.bytes
	return e
}
