package result

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResumeRefusesWhatWouldNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		old, now string
		says     []string
	}{
		"wire":     {"rate: 100 Mbit/s", "rate: 1 Gbit/s", []string{"wire_up.rate", "100 Mbit/s", "1 Gbit/s"}},
		"duration": {"duration: 4 s", "duration: 5 s", []string{"duration: was 4 s, is 5 s"}},
		"a terminal": {
			"  tablet: {radio: {standard: n, phy_rate: 65 Mbit/s}}\n", "",
			[]string{"terminals: was phone, tablet, is phone"},
		},
		"a radio": {
			"tablet: {radio: {standard: n, phy_rate: 65 Mbit/s}}",
			"tablet: {radio: {standard: n, phy_rate: 130 Mbit/s, streams: 2}}",
			[]string{"terminals.tablet.radio.phy", "65000000", "130000000"},
		},
		"seed":         {"repeats: 2", "repeats: 2\nseed: 9", []string{"seed: the random numbers of repeat 1"}},
		"name":         {"name: small", "name: other", []string{"name: was small, is other"}},
		"value gone":   {"[0 ms, 16 ms]", "[0 ms]", []string{"run rtt=16ms,r=", "no longer"}},
		"measurements": {"take: sum", "take: max", []string{"measure.total.take: was sum, is max"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := mustCreate(t, t.TempDir(), small)
			finish(t, f, f.Plan.Runs[:2]...)
			f.Close()
			if !strings.Contains(small, c.old) {
				t.Fatalf("the experiment has no %q", c.old)
			}
			_, err := resume(t, f.Dir, []byte(strings.Replace(small, c.old, c.now, 1)))
			if changed := (*Changed)(nil); !errors.As(err, &changed) {
				t.Fatalf("got %v", err)
			}
			says(t, err, append(c.says, f.Dir, "begin a new result")...)
			if kept, err := os.ReadFile(filepath.Join(f.Dir, experimentFile)); err != nil || string(kept) != small {
				t.Errorf("the file was changed: %v", err)
			}
			if locked(f.Dir) {
				t.Error("the result stays locked")
			}
		})
	}
}

func TestResumeTakesWhatFits(t *testing.T) {
	f := mustCreate(t, t.TempDir(), small)
	finish(t, f, f.Plan.Runs[:2]...)
	f.Close()
	more := strings.NewReplacer("repeats: 2", "repeats: 3", "[0 ms, 16 ms]", "[0 ms, 8 ms, 16 ms]").Replace(small) +
		"claims:\n  fast: {says: It is fast, holds: mean(total) > 10}\n"
	f, err := resume(t, f.Dir, []byte(more))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	remaining, err := f.Remaining(t.Context())
	if err != nil || len(remaining) != 7 {
		t.Errorf("%d runs remain of 9, %v", len(remaining), err)
	}
	finish(t, f, remaining...)
	read, err := Open(t.Context(), f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	results, problems := read.Results(t.Context())
	if len(results) != 9 || len(problems) > 0 || len(read.Plan.Claims) != 1 {
		t.Fatalf("%d results, %v, %d claims", len(results), problems, len(read.Plan.Claims))
	}
	hashes := map[string]int{}
	for _, r := range results {
		hashes[r.Experiment.SHA256]++
	}
	if hashes[hash([]byte(small))] != 2 || hashes[hash([]byte(more))] != 7 {
		t.Errorf("runs by the file they were made of: %v", hashes)
	}
	if kept, err := os.ReadFile(filepath.Join(f.Dir, "experiment.1.yaml")); err != nil || string(kept) != small {
		t.Errorf("the file as it was is not kept: %v", err)
	}
}

// Before the first run is finished, nothing binds the file but its name.
func TestResumeWithoutFinishedRunsTakesAnything(t *testing.T) {
	f := mustCreate(t, t.TempDir(), small)
	f.Close()
	f, err := resume(t, f.Dir, []byte(strings.Replace(small, "100 Mbit/s", "1 Gbit/s", 1)))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
