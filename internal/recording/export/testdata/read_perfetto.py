"""Reads a Perfetto trace in two ways and prints what is in it, as JSON: with Perfetto's published protobuf definitions,
and with the trace processor of its viewer.

usage: read_perfetto.py TRACE
"""

import json
import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent
from trace_processor import TraceProcessor


def unknown_fields(message):
    """Names the parts of a message that its definition does not know. Protobuf keeps them silently."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    found = [f"{message.DESCRIPTOR.name}.{f.field_number}" for f in UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                found += unknown_fields(inner)
    return found


def with_definitions(data):
    trace = Trace.FromString(data)
    tracks, counters, instants, names = {}, {}, [], {}
    for packet in trace.packet:
        for entry in packet.interned_data.event_names:
            names[entry.iid] = entry.name
        if packet.HasField("track_descriptor"):
            d = packet.track_descriptor
            tracks[d.uuid] = d.name or d.process.process_name
        if packet.HasField("track_event"):
            event = packet.track_event
            if event.type == TrackEvent.TYPE_COUNTER:
                name = tracks[event.track_uuid]  # described before its first value
                counters.setdefault(name, 0)
                counters[name] += 1
            elif event.type == TrackEvent.TYPE_INSTANT:
                instants.append(event.name or names[event.name_iid])
    return {
        "unknown": sorted({u for p in trace.packet for u in unknown_fields(p)}),
        "first_is_cleared": bool(trace.packet[0].sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED),
        "sequences": sorted({p.trusted_packet_sequence_id for p in trace.packet}),
        "tracks": sorted(set(tracks.values())),
        "counters": counters,
        "instants": instants,
    }


def with_trace_processor(data):
    processor = TraceProcessor(data)
    try:
        return {
            "problems": processor.query(
                "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
            ),
            "processes": processor.query("select pid, name from process where pid > 0 order by pid"),
            "counters": processor.query(
                "select f.name as flow, t.name as counter, count(*) as n, min(c.value) as least, max(c.value) as greatest,"
                " min(c.ts) as first, max(c.ts) as last from counter c join track t on c.track_id = t.id"
                " join track f on t.parent_id = f.id group by 1, 2 order by 1, 2"
            ),
            "slices": processor.query(
                "select f.name as flow, s.name as name, count(*) as n, sum(s.dur) as dur from slice s join track t"
                " on s.track_id = t.id join track f on t.parent_id = f.id where t.name = 'ca_state' group by 1, 2 order by 1, 2"
            ),
            "instants": processor.query(
                "select s.ts as ts, s.name as name, s.category as category, t.name as track from slice s"
                " join track t on s.track_id = t.id where t.name != 'ca_state' order by s.ts, s.id"
            ),
            "arguments": processor.query(
                "select s.name as event, replace(a.key, 'debug.', '') as name, a.display_value as value"
                " from slice s join args a using (arg_set_id) where a.key glob 'debug.*'"
            ),
            "owners": processor.query(
                "select t.name as track, p.name as process from process_track t join process p using (upid)"
                " where t.name glob 'flow *' order by 1"
            ),
            "wall_ns": processor.query("select clock_value as v from clock_snapshot where clock_name = 'REALTIME'"),
            "release": processor.query("select str_value as v from metadata where name = 'system_release'"),
        }
    finally:
        processor.close()


def main(path):
    with open(path, "rb") as trace:
        data = trace.read()
    print(json.dumps({"definitions": with_definitions(data), "processor": with_trace_processor(data)}))


if __name__ == "__main__":
    main(sys.argv[1])
