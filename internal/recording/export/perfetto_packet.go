package export

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of the messages that a trace uses, from Perfetto's protos/perfetto/trace
// (trace.proto, trace_packet.proto, clock_snapshot.proto, track_event/*.proto,
// interned_data/interned_data.proto) and protos/perfetto/common (builtin_clock.proto,
// system_info.proto).
const (
	tracePacket = 1 // Trace.packet

	packetClockSnapshot    = 6
	packetTimestamp        = 8
	packetSequenceID       = 10
	packetTrackEvent       = 11
	packetInternedData     = 12
	packetSequenceFlags    = 13
	packetSystemInfo       = 45
	packetDefaults         = 59
	packetTrackDescriptor  = 60
	defaultsTimestampClock = 58

	sequenceCleared    = 1 // SEQ_INCREMENTAL_STATE_CLEARED
	sequenceNeedsState = 2 // SEQ_NEEDS_INCREMENTAL_STATE

	snapshotClock        = 1
	snapshotPrimaryClock = 2
	clockID              = 1
	clockTimestamp       = 2
	clockRealtime        = 1 // BUILTIN_CLOCK_REALTIME
	clockMonotonic       = 3 // BUILTIN_CLOCK_MONOTONIC
	clockBoottime        = 6 // BUILTIN_CLOCK_BOOTTIME

	systemInfoUtsname = 1
	systemInfoMachine = 17
	utsnameSysname    = 1
	utsnameRelease    = 3

	trackUUID          = 1
	trackName          = 2
	trackProcess       = 3
	trackParent        = 5
	trackCounter       = 8
	trackChildOrdering = 11
	trackSiblingRank   = 12
	trackDescription   = 14
	trackMerge         = 15
	orderingExplicit   = 3 // ChildTracksOrdering.EXPLICIT
	mergeNone          = 2 // SIBLING_MERGE_BEHAVIOR_NONE
	processPID         = 1
	processName        = 6
	counterUnit        = 3
	counterUnitName    = 6
	counterShareKey    = 7
	unitBytes          = 3 // CounterDescriptor.UNIT_SIZE_BYTES

	eventAnnotations  = 4
	eventType         = 9
	eventNameIID      = 10
	eventTrack        = 11
	eventCategories   = 22
	eventName         = 23
	eventCounterValue = 30
	typeSliceBegin    = 1
	typeSliceEnd      = 2
	typeInstant       = 3
	typeCounter       = 4

	annotationName   = 10
	annotationBool   = 2
	annotationInt    = 4
	annotationString = 6

	internedEventNames = 2
	internedIID        = 1
	internedName       = 2
)

// message is a protobuf message being built.
type message []byte

func (m message) uint(field protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

// int writes an int32 or int64 (not a zigzag sint).
func (m message) int(field protowire.Number, v int64) message { return m.uint(field, uint64(v)) }

func (m message) bool(field protowire.Number, v bool) message {
	return m.uint(field, protowire.EncodeBool(v))
}

func (m message) text(field protowire.Number, s string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

func (m message) nested(field protowire.Number, inner message) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), inner)
}

// sequence is the trusted_packet_sequence_id of all packets: one writer, one sequence.
const sequence = 1

// appendCounter appends a whole packet with a counter's value. A recording has tens of these for
// each sample, so the sizes are worked out instead of building the nested messages one by one.
func appendCounter(dst []byte, timeNs int64, track uint64, value int64) []byte {
	event := 2 + // type
		1 + protowire.SizeVarint(track) +
		2 + protowire.SizeVarint(uint64(value))
	packet := 1 + protowire.SizeVarint(uint64(timeNs)) +
		2 + 2 + // sequence and flags
		1 + protowire.SizeVarint(uint64(event)) + event
	dst = protowire.AppendVarint(protowire.AppendTag(dst, tracePacket, protowire.BytesType), uint64(packet))
	m := message(dst).uint(packetTimestamp, uint64(timeNs)).uint(packetSequenceID, sequence).uint(packetSequenceFlags,
		sequenceNeedsState)
	m = protowire.AppendVarint(protowire.AppendTag(m, packetTrackEvent, protowire.BytesType), uint64(event))
	return m.uint(eventType, typeCounter).uint(eventTrack, track).int(eventCounterValue, value)
}
