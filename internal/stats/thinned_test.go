package stats

import (
	"slices"
	"testing"
)

func TestThinnedKeepsEvenSteps(t *testing.T) {
	var s Thinned[int]
	for i := range 17 {
		s.Add(i, 4)
	}
	if want := []int{0, 8, 16}; !slices.Equal(s.Values, want) {
		t.Errorf("kept %v, want %v", s.Values, want)
	}
}
