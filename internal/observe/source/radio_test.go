package source

import (
	"slices"
	"testing"

	"airtide/internal/observe/bpf"
)

func TestPartsAreParsed(t *testing.T) {
	for _, c := range []struct {
		names []string
		with  bpf.With
		radio bool
	}{
		{nil, 0, false},
		{[]string{"radio"}, 0, true},
		{[]string{"drops", "radio"}, bpf.WithDrops, true},
		{[]string{"waits"}, bpf.WithWaits, false},
	} {
		var o Options
		if err := o.ParseWith(c.names); err != nil || o.With != c.with || o.Radio != c.radio {
			t.Errorf("%v: %v, %v, %v", c.names, o.With, o.Radio, err)
		}
	}
	var all Options
	if err := all.ParseWith([]string{"all"}); err != nil || !all.Radio || len(all.With.Names()) != len(bpf.Parts()) {
		t.Errorf("all: %v, %v, %v", all.With.Names(), all.Radio, err)
	}
	if err := new(Options).ParseWith([]string{"radios"}); err == nil {
		t.Error("an unknown part is accepted")
	}
	opened := Opened{Kind: Diag, Radio: true}
	if got := opened.With(bpf.WithDrops); !slices.Equal(got, []string{"radio"}) {
		t.Errorf("the diag source observes %v", got)
	}
}
