package export

import (
	"encoding/json"
	"strconv"

	"airtide/internal/tcp"
	"airtide/internal/units"
)

// jsonLines writes one JSON object per line. Its field "type" is recording (the first line), flow,
// sample, event, radio or lost. Missing values are left out.
type jsonLines struct {
	meta *Meta
	out  *output
	// encoder encodes all lines but those of samples.
	encoder *json.Encoder
	clock   wallClock
	fields  []tcp.Field
	keys    [tcp.NumFields]string // `,"name":`
	line    []byte
	row     tcp.Sample
}

func newJSONLines(files *outputs, path string, meta *Meta, o *Options) (encoder, error) {
	out, err := files.create(path)
	if err != nil {
		return nil, err
	}
	j := &jsonLines{meta: meta, out: out, clock: wallClock{meta: meta}, fields: o.fields()}
	j.encoder = units.NewJSONEncoder(out)
	for _, f := range j.fields {
		j.keys[f] = `,"` + f.String() + `":`
	}
	recording := map[string]string{"type": "recording"}
	for _, kv := range metaPairs(meta) {
		recording[kv[0]] = kv[1]
	}
	return j, j.write(recording)
}

func (j *jsonLines) write(v any) error {
	return j.encoder.Encode(v)
}

// Flow writes a line at each announcement; the last one of a flow counts.
func (j *jsonLines) Flow(f *tcp.Flow) error {
	return j.write(struct {
		Type string `json:"type"`
		*tcp.Flow
	}{"flow", f})
}

func (j *jsonLines) Samples(b *tcp.Batch) error {
	for i := range b.Len() {
		b.Row(i, &j.row)
		line := append(j.line[:0], `{"type":"sample","flow":`...)
		line = strconv.AppendUint(line, uint64(j.row.Flow), 10)
		line = strconv.AppendInt(append(line, `,"time_ns":`...), j.row.TimeNs, 10)
		if j.meta.hasWall() {
			line = append(j.clock.append(append(line, `,"time":"`...), j.row.TimeNs), '"')
		}
		for _, f := range j.fields {
			if v := j.row.Values[f]; v != tcp.Absent {
				line = strconv.AppendInt(append(line, j.keys[f]...), v, 10)
			}
		}
		j.line = append(line, '}', '\n')
		if _, err := j.out.Write(j.line); err != nil {
			return err
		}
	}
	return nil
}

func (j *jsonLines) Event(e *tcp.Event) error {
	r := newEventRow(e, j.meta)
	r.TimeText = j.timeText(e.TimeNs)
	return j.write(r)
}

func (j *jsonLines) timeText(monotonicNs int64) string {
	if !j.meta.hasWall() {
		return ""
	}
	return string(j.clock.append(nil, monotonicNs))
}

func (j *jsonLines) Lost(l *tcp.Loss) error {
	return j.write(struct {
		Type string `json:"type"`
		Time string `json:"time,omitempty"`
		*tcp.Loss
	}{"lost", j.timeText(l.TimeNs), l})
}

func (j *jsonLines) Radio(r *tcp.Radio) error {
	row := newRadioRow(r, j.meta)
	row.TimeText = j.timeText(r.TimeNs)
	return j.write(row)
}

func (j *jsonLines) finish() error { return nil }
