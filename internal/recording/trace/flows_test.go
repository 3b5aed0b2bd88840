package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

// flowsByReflection decodes the definitions of flows by encoding/json alone.
func flowsByReflection(text []byte) (flows []tcp.Flow, err error) {
	for lines := json.NewDecoder(bytes.NewReader(text)); ; {
		var f tcp.Flow
		if err := lines.Decode(&f); err == io.EOF {
			return flows, nil
		} else if err != nil {
			return flows, err
		}
		flows = append(flows, f)
	}
}

func newFlowsDecoder() *flowsDecoder { return &flowsDecoder{names: map[string]string{}} }

// Every definition of the writer is decoded without reflection.
func TestDefinitionsOfTheWriterArePlain(t *testing.T) {
	for _, change := range []func(*tcp.Flow){
		func(*tcp.Flow) {},
		func(f *tcp.Flow) { *f = tcp.Flow{} },
		func(f *tcp.Flow) { f.Comm = "a\"\\\x1b\n\x00é\u2028<&>\xff" },
		func(f *tcp.Flow) { f.CgroupPath = strings.Repeat("/a", 3000) },
		func(f *tcp.Flow) {
			f.ID = math.MaxUint32
			f.Cgroup = math.MaxUint64
			f.FirstNs = -5
		},
	} {
		f := flowNumber(7)
		change(f)
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var got, want tcp.Flow
		if rest, ok := newFlowsDecoder().plain(append(text, "\n{}"...), &got); !ok || string(rest) != "\n{}" {
			t.Errorf("%s is not plain, or %q is left", text, rest)
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("decoded as %+v, want %+v", got, want)
		}
	}
}

// FuzzFlows decodes any text like encoding/json.
func FuzzFlows(f *testing.F) {
	var lines []byte
	for id := range tcp.FlowID(3) {
		text, err := json.Marshal(flowNumber(id))
		if err != nil {
			f.Fatal(err)
		}
		lines = append(append(lines, text...), '\n')
	}
	f.Add(lines)
	f.Add([]byte(`{"flow":1,"FLOW":2} {"comm":"a\u0000\ud800é","first_ns":-0}{"inherited":true,"local":""}`))
	f.Add([]byte(`{"pid":01}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		want, wantErr := flowsByReflection(text)
		var got []tcp.Flow
		d := newFlowsDecoder()
		for range 2 { // the second time with known names
			got = got[:0]
			err := d.each(text, func(f *tcp.Flow) error {
				got = append(got, *f)
				return nil
			})
			if (err != nil) != (wantErr != nil) || errors.Is(err, io.EOF) {
				t.Fatalf("error %v, want %v", err, wantErr)
			}
			if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
				t.Fatalf("decoded as %+v, want %+v", got, want)
			}
		}
	})
}
