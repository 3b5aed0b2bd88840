package export

import "airtide/internal/tcp"

// Survey is a sink for a first pass over a recording. Its results go into [Options].
type Survey struct {
	tcp.Discard
	flows   map[tcp.FlowID]*tcp.Flow
	present [tcp.NumFields]bool
}

// Flow stores the last description of a flow.
func (s *Survey) Flow(f *tcp.Flow) error {
	if s.flows == nil {
		s.flows = make(map[tcp.FlowID]*tcp.Flow)
	}
	last := *f
	s.flows[f.ID] = &last
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
