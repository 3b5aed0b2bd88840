package export

import "airtide/internal/tcp"

// radioKey names a radio, or its link to a station.
type radioKey struct {
	radio   tcp.RadioID
	station string
}

// perfettoRadio is the last written state of a radio.
type perfettoRadio struct {
	track     uint64
	values    tcp.RadioValues // Absent before the first value
	described [tcp.NumRadioFields]bool
}

// radioShareKeys names counters of a radio that share one scale.
var radioShareKeys = map[tcp.RadioField]string{
	tcp.RadioTxRateBps: "rate", tcp.RadioRxRateBps: "rate", tcp.RadioExpectedBps: "rate",
	tcp.RadioSignalDbm: "signal", tcp.RadioSignalAverageDbm: "signal", tcp.RadioAckSignalDbm: "signal",
}

// Radio writes the values of a link or a channel that changed, and an event as an instant. The
// counters of single traffic identifiers are left out: they are parts of those of their link.
func (p *perfettoTrace) Radio(r *tcp.Radio) error {
	if r.Kind == tcp.RadioTID || r.Kind == tcp.RadioNone {
		return nil
	}
	radio, err := p.radio(r)
	if err != nil {
		return err
	}
	if r.Kind.IsEvent() {
		name, interned := p.intern(r.Kind.String())
		event := message{}.uint(eventType, typeInstant).uint(eventTrack, radio.track).uint(eventNameIID, name).text(
			eventCategories, categoryRadio,
		)
		return p.writeEvent(r.TimeNs, annotateRadio(event, r), interned)
	}
	p.packet = p.packet[:0]
	for _, f := range tcp.RadioFields() {
		v := r.Values[f]
		if v == tcp.Absent || v == radio.values[f] {
			continue
		}
		radio.values[f] = v
		track := radio.track + counterTracks + uint64(f)
		if !radio.described[f] {
			radio.described[f] = true
			counter := message{}
			if key := radioShareKeys[f]; key != "" {
				counter = counter.text(counterShareKey, key)
			}
			err := p.write(describeCounter(track, radio.track, int(f), f.String(), f.Info().Doc, counter))
			if err != nil {
				return err
			}
		}
		p.packet = appendCounter(p.packet, r.TimeNs, track, v)
	}
	_, err = p.out.Write(p.packet)
	return err
}

// radio returns the written state of a radio, and describes its track at the first call.
func (p *perfettoTrace) radio(r *tcp.Radio) (*perfettoRadio, error) {
	key := radioKey{radio: r.ID()}
	title := "radio " + r.Interface
	if r.Kind == tcp.RadioStation {
		key.station = r.Station
		title += " > " + r.Station
	}
	if known := p.radios[key]; known != nil {
		return known, nil
	}
	radio := &perfettoRadio{
		track: radioTracks + uint64(len(p.radios))*tracksPerFlow, values: tcp.NoRadioValues(),
	}
	p.radios[key] = radio
	return radio, p.write(descriptor(message{}.uint(trackUUID, radio.track).text(trackName, title).
		uint(trackChildOrdering, orderingExplicit).uint(trackMerge, mergeNone)))
}

// annotateRadio adds what an event tells of the other end.
func annotateRadio(event message, r *tcp.Radio) message {
	for _, t := range []struct{ name, value string }{{"station", r.Station}, {"ssid", r.SSID}} {
		if t.value != "" {
			event = event.nested(eventAnnotations,
				message{}.text(annotationName, t.name).text(annotationString, t.value))
		}
	}
	return event
}
