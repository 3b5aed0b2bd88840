package main

import (
	"errors"
	"fmt"
	"os"

	"airtide/tcp"
	"airtide/trace"
)

// openTrace opens a recording and tells of damage on stderr.
func openTrace(path string) (*trace.Reader, error) {
	r, err := trace.Open(path)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// warnDamage says what could not be read, after a scan.
func warnDamage(path string, r *trace.Reader) {
	if d := r.Damage(); !d.Whole() {
		fmt.Fprintf(os.Stderr, "airtide: %s: %s\n", path, &d)
	}
}

// busiestFlow finds the flow that moved most bytes.
func busiestFlow(r *trace.Reader) (tcp.FlowID, error) {
	v := &volume{bytes: map[tcp.FlowID]int64{}}
	if err := r.Scan(trace.ScanOptions{Fields: []tcp.Field{tcp.AckedBytes, tcp.ReceivedBytes}}, v); err != nil {
		return 0, err
	}
	var best tcp.FlowID
	for _, id := range v.order {
		if best == 0 || v.bytes[id] > v.bytes[best] {
			best = id
		}
	}
	if best == 0 {
		return 0, errors.New("the recording has no flows")
	}
	return best, nil
}

// volume sums up what each flow moved; a sender counts before a receiver of as much.
type volume struct {
	tcp.Discard
	bytes map[tcp.FlowID]int64
	order []tcp.FlowID
}

func (v *volume) Flow(f *tcp.Flow) error {
	if _, ok := v.bytes[f.ID]; !ok {
		v.order = append(v.order, f.ID)
		v.bytes[f.ID] = 0
	}
	return nil
}

func (v *volume) Samples(b *tcp.Batch) error {
	for i, id := range b.Flow {
		v.bytes[id] = max(v.bytes[id], 2*b.Cols[tcp.AckedBytes][i], b.Cols[tcp.ReceivedBytes][i])
	}
	return nil
}
