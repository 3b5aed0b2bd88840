package export

import (
	"fmt"

	"airtide/internal/tcp"
)

// flow returns the written state of a flow, and describes its tracks at the first call.
func (p *perfettoTrace) flow(id tcp.FlowID) (*perfettoFlow, error) {
	if f := p.flows[id]; f != nil {
		return f, nil
	}
	f := &perfettoFlow{
		track:  uint64(id) * tracksPerFlow,
		values: make([]int64, len(p.fields)), described: make([]bool, len(p.fields)), caState: tcp.Absent,
	}
	for k := range f.values {
		f.values[k] = tcp.Absent
	}
	p.flows[id] = f
	flow := p.known.flows[id]
	if flow == nil {
		flow = &tcp.Flow{ID: id} // its announcement got lost
	}
	track := message{}.uint(trackUUID, f.track).text(trackName, flowTitle(flow)).text(
		trackDescription, flowDescription(flow),
	).
		uint(trackChildOrdering, orderingExplicit).uint(trackMerge, mergeNone).uint(trackSiblingRank, uint64(id))
	if flow.PID != 0 {
		if err := p.process(flow); err != nil {
			return nil, err
		}
		track = track.uint(trackParent, processTracks+uint64(flow.PID))
	}
	if err := p.write(descriptor(track)); err != nil {
		return nil, err
	}
	state := message{}.uint(trackUUID, f.track+caStateTrack).uint(trackParent, f.track).text(trackName, caStateName).
		uint(trackMerge, mergeNone)
	return f, p.write(descriptor(state))
}

// process describes the track of the process that owns a flow.
func (p *perfettoTrace) process(f *tcp.Flow) error {
	if p.processes[f.PID] {
		return nil
	}
	p.processes[f.PID] = true
	process := message{}.int(processPID, int64(f.PID)).text(processName, f.Comm)
	return p.write(descriptor(message{}.uint(trackUUID, processTracks+uint64(f.PID)).nested(trackProcess, process)))
}

func descriptor(track message) message {
	const around = 16
	return make(message, 0, len(track)+around).uint(packetSequenceID, sequence).nested(packetTrackDescriptor, track)
}

func flowTitle(f *tcp.Flow) string {
	title := f.String()
	if f.CongestionControl != "" {
		title += " " + f.CongestionControl
	}
	return title
}

func flowDescription(f *tcp.Flow) string {
	return fmt.Sprintf("network namespace %d, cgroup %q, socket inode %d", f.NetNS, f.CgroupPath, f.Inode)
}

// shareKeys names counters that share one scale.
var shareKeys = map[tcp.Field]string{
	tcp.CwndPackets: "window", tcp.InFlightPackets: "window", tcp.CubicWmaxPackets: "window",
	tcp.CubicTargetPackets: "window",
	tcp.SrttUs:             "rtt", tcp.RttUs: "rtt", tcp.MinRttUs: "rtt",
	tcp.SendQueuedBytes: "send queue", tcp.UnsentBytes: "send queue",
}

// counterDescriptor describes the k-th counter of a flow.
func counterDescriptor(track, flowTrack uint64, k int, f tcp.Field) message {
	info := f.Info()
	counter := make(message, 0, 64)
	switch info.Unit {
	case "":
	case "bytes":
		counter = counter.uint(counterUnit, unitBytes)
	default:
		counter = counter.text(counterUnitName, info.Unit)
	}
	if key := shareKeys[f]; key != "" {
		counter = counter.text(counterShareKey, key)
	}
	return describeCounter(track, flowTrack, k, info.Name, info.Doc, counter)
}

// describeCounter describes the k-th counter of another track.
func describeCounter(uuid, parent uint64, k int, name, doc string, counter message) message {
	const around = 48
	track := make(message, 0, len(name)+len(doc)+len(counter)+around)
	return descriptor(track.uint(trackUUID, uuid).uint(trackParent, parent).text(trackName, name).
		text(trackDescription, doc).uint(trackSiblingRank, uint64(k+1)).uint(trackMerge, mergeNone).
		nested(trackCounter, counter))
}

// annotate adds the columns of an event as debug annotations, by the names that they have in the
// other formats.
func annotate(event message, r *eventRow) message {
	event = annotateInt(event, "code", int64(r.Code))
	for _, t := range []struct {
		name  string
		value *string
	}{
		{"code_name", r.CodeName},
		{"ca_state", r.CAState},
		{"cause", r.Cause},
		{"reason", r.Reason},
		{"from_state", r.FromState},
		{"to_state", r.ToState},
		{"blocks", r.BlocksText},
		{"text", r.Text},
	} {
		if t.value != nil {
			event = event.nested(eventAnnotations,
				message{}.text(annotationName, t.name).text(annotationString, *t.value))
		}
	}
	for _, n := range []struct {
		name  string
		value *int64
	}{
		{"cwnd_packets", r.CwndPackets},
		{"ssthresh_packets", r.SsthreshPackets},
		{"in_flight_packets", r.InFlightPackets},
		{"seq_bytes", r.SeqBytes},
		{"end_seq_bytes", r.EndSeqBytes},
		{"value", r.Value},
	} {
		if n.value != nil {
			event = annotateInt(event, n.name, *n.value)
		}
	}
	if r.CPU != nil {
		event = annotateInt(event, "cpu", int64(*r.CPU))
	}
	if r.FromSample != nil {
		event = event.nested(eventAnnotations,
			message{}.text(annotationName, "from_sample").bool(annotationBool, *r.FromSample))
	}
	return event
}

func annotateInt(event message, name string, v int64) message {
	return event.nested(eventAnnotations, message{}.text(annotationName, name).int(annotationInt, v))
}
