package export

import (
	"fmt"
	"maps"
	"slices"

	"airtide/internal/tcp"
)

// perfettoTrace writes a Perfetto trace: a process track for each process, under it a track for
// each flow that carries the events as instants, and under that a track of slices for the
// congestion state and a counter track for each field. Each radio and each of its stations has a
// track with events and counters as well. Counters are written when they change.
//
// Descriptors must stand before the first packet of their track, so a flow gets the process that is
// known of it at its first sample or event; Options.Flows tells it better.
type perfettoTrace struct {
	meta      *Meta
	out       *output
	fields    []tcp.Field
	known     flowTable
	flows     map[tcp.FlowID]*perfettoFlow
	radios    map[radioKey]*perfettoRadio
	processes map[uint32]bool // key: PID
	names     map[string]uint64
	lost      lossWatch
	lostTrack bool
	packet    []byte
}

// perfettoFlow is the last written state of a flow.
type perfettoFlow struct {
	track     uint64
	values    []int64 // same order as fields; Absent before the first value
	described []bool  // true if the counter has its descriptor
	caState   int64   // open slice, or Absent
	lastNs    int64
}

// Track ids. A flow, and a radio, has room for a track for each field beside its own tracks;
// processes come after all flows, and radios after all processes.
const (
	lostTrackID   = 1
	tracksPerFlow = 128
	caStateTrack  = 1
	counterTracks = 2
	processTracks = tracksPerFlow << 32
	radioTracks   = processTracks + 1<<32
	// This does not compile if there are too many fields.
	_              = uint(tracksPerFlow - counterTracks - tcp.NumFields)
	lostTrackName  = "lost records"
	caStateName    = "ca_state"
	categoryEvents = "tcp"
	categoryErrors = "tcp.error"
	categoryRadio  = "radio"
)

// DefaultCounters are the fields that become counter tracks when none are chosen. The congestion
// state is always there, as slices.
func DefaultCounters() []tcp.Field {
	return []tcp.Field{
		tcp.CwndPackets, tcp.SsthreshPackets, tcp.InFlightPackets, tcp.SrttUs, tcp.RttUs, tcp.MinRttUs, tcp.RTOUs,
		tcp.DeliveryRateBps, tcp.PacingRateBps, tcp.SendQueuedBytes, tcp.UnsentBytes, tcp.DeviceQueueBytes,
		tcp.ReceiveQueuedBytes, tcp.SendWindowBytes, tcp.ReceiveWindowBytes, tcp.LostOutPackets, tcp.RetransmitsPackets,
		tcp.CubicWmaxPackets, tcp.CubicTargetPackets, tcp.CubicKMs, tcp.BBRMode, tcp.BBRBandwidthBps,
	}
}

func newPerfetto(files *outputs, path string, meta *Meta, o *Options) (encoder, error) {
	out, err := files.create(path)
	if err != nil {
		return nil, err
	}
	fields := DefaultCounters()
	if o.Fields != nil {
		fields = slices.DeleteFunc(slices.Clone(o.Fields), func(f tcp.Field) bool { return f == tcp.CAStateField })
	}
	p := &perfettoTrace{
		meta: meta, out: out, fields: fields, known: newFlowTable(o), flows: map[tcp.FlowID]*perfettoFlow{},
		radios:    map[radioKey]*perfettoRadio{},
		processes: map[uint32]bool{}, names: map[string]uint64{},
	}
	return p, p.writeStart()
}

// writeStart writes the clock of the timestamps and its relation to the other clocks.
func (p *perfettoTrace) writeStart() error {
	clock := func(id uint64, ns int64) message {
		return message{}.uint(clockID, id).uint(clockTimestamp, uint64(ns))
	}
	snapshot := message{}.nested(snapshotClock, clock(clockMonotonic, p.meta.ClockMonotonicNs))
	if p.meta.hasWall() {
		snapshot = snapshot.nested(snapshotClock, clock(clockRealtime, p.meta.ClockWallNs))
	}
	primary := uint64(clockMonotonic)
	if p.meta.ClockBootNs != 0 {
		snapshot = snapshot.nested(snapshotClock, clock(clockBoottime, p.meta.ClockBootNs))
		primary = clockBoottime // the clock of Android's own traces
	}
	snapshot = snapshot.uint(snapshotPrimaryClock, primary)
	start := message{}.uint(packetSequenceID, sequence).uint(packetSequenceFlags, sequenceCleared).
		nested(packetDefaults, message{}.uint(defaultsTimestampClock, clockMonotonic)).
		nested(packetClockSnapshot, snapshot)
	if err := p.write(start); err != nil {
		return err
	}
	system := message{}.nested(
		systemInfoUtsname, message{}.text(utsnameSysname, "Linux").text(utsnameRelease, p.meta.Kernel),
	).
		text(systemInfoMachine, p.meta.Host)
	return p.write(message{}.uint(packetSequenceID, sequence).nested(packetSystemInfo, system))
}

func (p *perfettoTrace) write(packet message) error {
	_, err := p.out.Write(message{}.nested(tracePacket, packet))
	return err
}

func (p *perfettoTrace) Flow(f *tcp.Flow) error {
	p.known.put(f)
	return nil
}

// Samples writes the counters that changed.
func (p *perfettoTrace) Samples(b *tcp.Batch) error {
	for i := range b.Len() {
		flow, err := p.flow(b.Flow[i])
		if err != nil {
			return err
		}
		timeNs := b.TimeNs[i]
		flow.lastNs = max(flow.lastNs, timeNs)
		if state := b.Cols[tcp.CAStateField][i]; state != tcp.Absent && state != flow.caState {
			if err := p.caState(flow, timeNs, state); err != nil {
				return err
			}
		}
		p.packet = p.packet[:0]
		for k, f := range p.fields {
			v := b.At(f, i)
			if v == tcp.Absent || v == flow.values[k] {
				continue
			}
			flow.values[k] = v
			track := flow.track + counterTracks + uint64(k)
			if !flow.described[k] {
				flow.described[k] = true
				if err := p.write(counterDescriptor(track, flow.track, k, f)); err != nil {
					return err
				}
			}
			p.packet = appendCounter(p.packet, timeNs, track, v)
		}
		if _, err := p.out.Write(p.packet); err != nil {
			return err
		}
	}
	return nil
}

// caState ends the slice of the last state and begins one of the new state. Open, the normal case,
// is no slice, so that the others stand out.
func (p *perfettoTrace) caState(flow *perfettoFlow, timeNs, state int64) error {
	track := flow.track + caStateTrack
	if flow.caState != tcp.Absent && flow.caState != int64(tcp.CAOpen) {
		err := p.writeEvent(timeNs, message{}.uint(eventType, typeSliceEnd).uint(eventTrack, track), nil)
		if err != nil {
			return err
		}
	}
	flow.caState = state
	if state == int64(tcp.CAOpen) {
		return nil
	}
	name, interned := p.intern(tcp.CAState(state).String())
	begin := message{}.uint(eventType, typeSliceBegin).uint(eventTrack, track).uint(eventNameIID, name).text(
		eventCategories, categoryEvents,
	)
	return p.writeEvent(timeNs, begin, interned)
}

func (p *perfettoTrace) writeEvent(timeNs int64, event, interned message) error {
	packet := message{}.uint(packetTimestamp, uint64(timeNs)).uint(packetSequenceID, sequence).uint(packetSequenceFlags,
		sequenceNeedsState)
	if interned != nil {
		packet = packet.nested(packetInternedData, interned)
	}
	return p.write(packet.nested(packetTrackEvent, event))
}

// intern numbers a name; the first time it also returns the data that tell the reader.
func (p *perfettoTrace) intern(name string) (iid uint64, data message) {
	if iid, ok := p.names[name]; ok {
		return iid, nil
	}
	iid = uint64(len(p.names) + 1)
	p.names[name] = iid
	return iid, message{}.nested(internedEventNames, message{}.uint(internedIID, iid).text(internedName, name))
}

// Event writes an instant with the values of the event as arguments.
func (p *perfettoTrace) Event(e *tcp.Event) error {
	flow, err := p.flow(e.Flow)
	if err != nil {
		return err
	}
	flow.lastNs = max(flow.lastNs, e.TimeNs)
	name, interned := p.intern(eventTitle(e))
	category := categoryEvents
	if e.Code != tcp.CodeNone {
		category = categoryErrors
	}
	event := message{}.uint(eventType, typeInstant).uint(eventTrack, flow.track).uint(eventNameIID, name).text(
		eventCategories, category,
	)
	return p.writeEvent(e.TimeNs, annotate(event, newEventRow(e, p.meta)), interned)
}

// eventTitle returns the kind of event, and the cause of a retransmission: both are searched for in
// the viewer.
func eventTitle(e *tcp.Event) string {
	if e.Cause != tcp.CauseNone {
		return fmt.Sprintf("%s (%s)", e.Kind, e.Cause)
	}
	return e.Kind.String()
}

// Lost writes an instant on a track of its own when records got lost: a gap in a counter is then
// not taken for calm.
func (p *perfettoTrace) Lost(l *tcp.Loss) error {
	if !p.lost.grown(l) {
		return nil
	}
	if !p.lostTrack {
		p.lostTrack = true
		err := p.write(descriptor(message{}.uint(trackUUID, lostTrackID).text(trackName, lostTrackName)))
		if err != nil {
			return err
		}
	}
	event := message{}.uint(eventType, typeInstant).uint(eventTrack, lostTrackID).text(eventName, lostTrackName).text(
		eventCategories, categoryErrors,
	)
	return p.writeEvent(l.TimeNs, annotateInt(event, "total", int64(p.lost.last)), nil)
}

// finish ends the slices that are still open.
func (p *perfettoTrace) finish() error {
	for _, id := range slices.Sorted(maps.Keys(p.flows)) {
		if err := p.caState(p.flows[id], p.flows[id].lastNs, int64(tcp.CAOpen)); err != nil {
			return err
		}
	}
	return nil
}
