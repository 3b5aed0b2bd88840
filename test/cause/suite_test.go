package cause

import (
	"reflect"
	"strings"
	"testing"
)

// The suite has enough situations of each kind, half of them with noise, as files that others can
// read.
func TestSuiteIsLargeAndAFolderOfFiles(t *testing.T) {
	folder := t.TempDir()
	counts := map[Kind]int{}
	wires := 0
	noisy := 0
	all := 0
	for seed := uint64(1); seed <= 8; seed++ {
		for _, s := range Suite(seed) {
			if seed == 1 {
				counts[s.Kind]++
			}
			if len(s.Limits) == 0 || s.Cell == "" || s.Plan.For <= 0 {
				t.Errorf("%s has no right answer, cell or traffic", s.File())
			}
			if strings.Contains(s.Cell, "link: ethernet") {
				wires++
			}
			if strings.Contains(s.Cell, "jitter:") {
				noisy++
			}
			all++
			if err := s.Write(folder); err != nil {
				t.Fatal(err)
			}
		}
	}
	mixed := counts[Mixture] + counts[Change]
	if counts[Single] < 40 || mixed < 40 || counts[Healthy] < 5 || counts[Sweep] < 40 || all < 300 {
		t.Errorf("%v, %d runs", counts, all)
	}
	if noisy < wires/4 {
		t.Errorf("%d of %d wires have noise", noisy, wires)
	}
	read, err := Read(folder)
	if err != nil || len(read) != all {
		t.Fatalf("%d of %d situations are read: %v", len(read), all, err)
	}
	for _, want := range Suite(3) {
		found := false
		for i := range read {
			found = found || read[i].File() == want.File() && reflect.DeepEqual(read[i].Limits, want.Limits) &&
				read[i].Cell == want.Cell
		}
		if !found {
			t.Errorf("%s is not read as it was written", want.File())
		}
	}
}
