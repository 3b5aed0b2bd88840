package export

import "airtide/internal/tcp"

// Survey is a sink for a first pass over a recording. Its results go into [Options].
type Survey struct {
	tcp.Discard
	flows map[tcp.FlowID]*tcp.Flow
	// described holds the congestion control of each flow's last description.
	described map[tcp.FlowID]string
	present   [tcp.NumFields]bool
	radio     bool
}

// Flow stores the last description of a flow. A description that repeats an older congestion
// control does not undo a change.
func (s *Survey) Flow(f *tcp.Flow) error {
	if s.flows == nil {
		s.flows = make(map[tcp.FlowID]*tcp.Flow)
		s.described = make(map[tcp.FlowID]string)
	}
	last := *f
	if before := s.flows[f.ID]; before != nil && s.described[f.ID] == f.CongestionControl {
		last.CongestionControl = before.CongestionControl
	}
	s.flows[f.ID] = &last
	s.described[f.ID] = f.CongestionControl
	return nil
}

// Event follows changes of the congestion control.
func (s *Survey) Event(e *tcp.Event) error {
	if f := s.flows[e.Flow]; f != nil && e.Kind == tcp.EventCCChange && e.Text != "" {
		f.CongestionControl = e.Text
	}
	return nil
}

// Samples looks for the first value of each field that has not been seen yet.
func (s *Survey) Samples(b *tcp.Batch) error {
	for f := range tcp.Field(tcp.NumFields) {
		for i := 0; i < b.Len() && !s.present[f]; i++ {
			s.present[f] = b.At(f, i) != tcp.Absent
		}
	}
	return nil
}

// Fields lists the fields that at least one sample has.
func (s *Survey) Fields() []tcp.Field {
	fields := []tcp.Field{}
	for f, present := range s.present {
		if present {
			fields = append(fields, tcp.Field(f))
		}
	}
	return fields
}

// Flows returns the last state of each flow.
func (s *Survey) Flows() map[tcp.FlowID]*tcp.Flow { return s.flows }

// Radio notes that the recording has data of a radio.
func (s *Survey) Radio(*tcp.Radio) error {
	s.radio = true
	return nil
}

// HasRadio reports whether the recording has data of a radio.
func (s *Survey) HasRadio() bool { return s.radio }
