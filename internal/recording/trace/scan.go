package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"airtide/internal/tcp"
)

// ScanOptions select the data that a scan delivers.
type ScanOptions struct {
	// Fields are the fields to decode, including computed fields. If it is nil, all fields are
	// decoded. Other fields are absent in the samples.
	Fields []tcp.Field
	// Flows are the flows to deliver; nil means all. Records about radios come in any case.
	Flows []tcp.FlowID
	// FromNs and ToNs bound the times of samples, events and records about radios. ToNs is
	// exclusive; 0 means without bound.
	FromNs, ToNs int64
	// MaxFlows ends the scan with a ManyFlowsError before it delivers more flows; 0 means without
	// limit.
	MaxFlows int
}

// ManyFlowsError is the error of a recording with more flows than its reader accepts.
type ManyFlowsError struct{ Most int }

func (e *ManyFlowsError) Error() string {
	return fmt.Sprintf("it has more than %d flows, which would take too much memory", e.Most)
}

// Scan delivers the recording to a sink, in the order of the file. Samples come in batches, grouped
// by flow and ordered by time within each flow. A flow's definition comes before its data, and
// again if it was recorded again. The sink must not change a batch.
//
// Damage is not an error: Scan skips it and continues behind it, and Damage lists the skipped
// parts. Scan returns errors of reading the file and errors of the sink.
func (r *Reader) Scan(ctx context.Context, o ScanOptions, sink tcp.Sink) error {
	samples, err := newSamplesDecoder(r.description.Columns)
	if err != nil {
		return err
	}
	samples.want = wanted(o.Fields)
	samples.selection = newSelection(&o)
	s := scanning{
		blocks: newBlocks(ctx, r.source, r.Size()), samples: samples, sink: sink,
		flows: flowsDecoder{names: map[string]string{}},
	}
	s.limits = newLimits()
	s.maxFlows = o.MaxFlows
	s.damage.Live = r.file != nil && locked(r.file)
	err = s.run()
	r.damage = s.damage
	if err != nil {
		return fmt.Errorf("scanning trace %s: %w", r.path, err)
	}
	return nil
}

func newSelection(o *ScanOptions) selection {
	s := selection{fromNs: math.MinInt64, toNs: math.MaxInt64}
	if o.FromNs != 0 {
		s.fromNs = o.FromNs
	}
	if o.ToNs != 0 {
		s.toNs = o.ToNs
	}
	if o.Flows != nil {
		s.flows = make(map[tcp.FlowID]bool, len(o.Flows))
		for _, f := range o.Flows {
			s.flows[f] = true
		}
	}
	s.all = o.Flows == nil && o.FromNs == 0 && o.ToNs == 0
	return s
}

// wanted returns the set of stored fields that the given fields need.
func wanted(fields []tcp.Field) (want [tcp.NumStored]bool) {
	for f := range want {
		want[f] = fields == nil
	}
	for _, f := range fields {
		for _, g := range f.Sources() {
			want[g] = true
		}
	}
	return want
}

// scanning is a scan under way.
type scanning struct {
	blocks
	samples *samplesDecoder
	sink    tcp.Sink
	defined tcp.FlowSet // flows that the sink knows
	flows   flowsDecoder
	limits  limits
	text    []byte
	// maxFlows is that of the options.
	maxFlows int
}

// sinkError is an error of the sink, which ends the scan; other errors within a block are damage.
type sinkError struct{ error }

func (s *scanning) run() error {
	for {
		start := s.offset
		h, err := s.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		s.damage.CleanEnd = false // a block behind the end is no clean end
		if skipped := s.offset; skipped > start {
			start = skipped
		}
		if (h.kind == blockSamples || h.kind == blockEvents) && !s.samples.selection.mayHave(&h) {
			s.skip(&h)
			continue
		}
		payload, ok, err := s.payload(&h)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		s.limits.extend(headerLen + int64(len(payload)))
		var fromSink sinkError
		switch err := s.block(&h, payload); {
		case errors.As(err, &fromSink):
			return fromSink.error
		case err != nil:
			s.damage.skip(start, s.offset, err.Error())
		}
	}
}

// block delivers a block with a valid checksum.
func (s *scanning) block(h *header, payload []byte) (err error) {
	switch h.kind {
	case blockSamples:
		return s.deliverSamples(h, payload)
	case blockFlows, blockEvents, blockLoss, blockRadio:
		s.text, err = decompress(s.text, payload, maxDecoded)
		if err != nil {
			return err
		}
	}
	switch h.kind {
	case blockHeader:
	case blockFlows:
		return s.flows.each(s.text, s.deliverFlow)
	case blockEvents:
		return parseEvents(s.text, s.deliverEvent)
	case blockLoss:
		if len(s.text) > maxLossText {
			return fmt.Errorf("malformed lost counts: %w", errLongText)
		}
		var l tcp.Loss
		if err := json.Unmarshal(s.text, &l); err != nil {
			return fmt.Errorf("malformed lost counts: %w", err)
		}
		return fromSink(s.sink.Lost(&l))
	case blockRadio:
		return s.deliverRadio()
	case blockEnd:
		s.damage.CleanEnd = true
	default:
		s.damage.UnknownBlocks++
	}
	return nil
}

func fromSink(err error) error {
	if err != nil {
		return sinkError{err}
	}
	return nil
}

// deliverFlow delivers the definition of a flow.
func (s *scanning) deliverFlow(f *tcp.Flow) error {
	if !s.samples.selection.hasFlow(f.ID) {
		return nil
	}
	if !take(&s.limits.definitions, 1) {
		return errManyFlows
	}
	if err := s.admit(f.ID); err != nil {
		return err
	}
	cutFlow(f)
	return fromSink(s.sink.Flow(f))
}

// admit counts a flow that is delivered for the first time.
func (s *scanning) admit(id tcp.FlowID) error {
	if s.defined.Has(id) {
		return nil
	}
	if !take(&s.limits.flows, 1) {
		return errManyFlows
	}
	if s.maxFlows > 0 && s.defined.Len() >= s.maxFlows {
		return sinkError{&ManyFlowsError{s.maxFlows}}
	}
	s.defined.Add(id)
	return nil
}

// define gives the sink a flow whose definition was lost.
func (s *scanning) define(id tcp.FlowID, ns int64) error {
	if s.defined.Has(id) {
		return nil
	}
	if err := s.admit(id); err != nil {
		return err
	}
	s.damage.UndefinedFlows++
	return fromSink(s.sink.Flow(&tcp.Flow{ID: id, FirstNs: ns}))
}

func (s *scanning) deliverSamples(h *header, payload []byte) error {
	rows := min(h.count, maxRows+1)
	if !take(&s.limits.rows, int64(rows)) {
		return errManyRows
	}
	batch, err := s.samples.decode(payload, int(rows))
	if err != nil || batch.Len() == 0 {
		return err
	}
	for i, f := range batch.Flow {
		if i == 0 || f != batch.Flow[i-1] {
			if err := s.define(f, batch.TimeNs[i]); err != nil {
				return err
			}
		}
	}
	return fromSink(s.sink.Samples(batch))
}

func (s *scanning) deliverEvent(e *tcp.Event) error {
	if !take(&s.limits.rows, 1) {
		return errManyRows
	}
	e.Text = cutText(e.Text, maxText)
	if !s.samples.selection.hasTime(e.TimeNs) || !s.samples.selection.hasFlow(e.Flow) {
		return nil
	}
	if err := s.define(e.Flow, e.TimeNs); err != nil {
		return err
	}
	return fromSink(s.sink.Event(e))
}

// deliverRadio delivers records about radios, without those of kinds that a newer version has.
func (s *scanning) deliverRadio() error {
	for lines := json.NewDecoder(bytes.NewReader(s.text)); ; {
		r := tcp.Radio{Values: tcp.NoRadioValues()}
		if err := lines.Decode(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("malformed record about a radio: %w", err)
		}
		if !take(&s.limits.rows, 1) {
			return errManyRows
		}
		if r.Kind == tcp.RadioNone || !s.samples.selection.hasTime(r.TimeNs) {
			continue
		}
		cutRadio(&r)
		if err := s.sink.Radio(&r); err != nil {
			return sinkError{err}
		}
	}
}
