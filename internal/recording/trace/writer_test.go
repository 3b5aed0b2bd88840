package trace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"airtide/internal/tcp"
)

// TestMain lets the test binary stand in for a recording process that is to be killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("TRACE_TEST_RECORD_TO"); path != "" {
		recordUntilKilled(path)
	}
	os.Exit(m.Run())
}

// recordUntilKilled records 100 samples each 10 ms, flushes each 100 ms and prints how many samples
// were flushed.
func recordUntilKilled(path string) {
	w, err := Create(path, HostMetadata(), Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	b := transfers(100, 3, 1)
	ticks := time.NewTicker(10 * time.Millisecond)
	for i := 1; ; i++ {
		if err := w.Samples(b); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		<-ticks.C
		if i%10 == 0 {
			if err := w.Flush(); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println(i * 100)
		}
	}
}

func TestKilledRecordingKeepsWhatWasFlushed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.atr")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "TRACE_TEST_RECORD_TO="+path)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	var flushed int
	for flushed < 3000 {
		if _, err := fmt.Fscan(out, &flushed); err != nil {
			t.Fatal(err)
		}
	}

	// A second recording is refused while the first runs, and a reader sees what is there.
	for _, o := range []Options{{}, {Overwrite: true}} {
		if _, err := Create(path, HostMetadata(), o); !errors.Is(err, ErrLocked) {
			t.Errorf("second recording with %+v: %v, want ErrLocked", o, err)
		}
	}
	got, damage := scan(t, path, ScanOptions{})
	if len(got.rows) < flushed || !damage.Live || damage.CleanEnd {
		t.Errorf("while recording: %d samples of %d flushed, %+v", len(got.rows), flushed, damage)
	}

	must(t, child.Process.Kill())
	rest, err := io.ReadAll(out)
	must(t, err)
	_ = child.Wait() // reports the kill
	if lines := strings.Fields(string(rest)); len(lines) > 0 {
		_, err := fmt.Sscan(lines[len(lines)-1], &flushed)
		must(t, err)
	}
	got, damage = scan(t, path, ScanOptions{})
	if len(got.rows) < flushed || len(got.rows)%100 != 0 {
		t.Errorf("%d samples, and %d were flushed", len(got.rows), flushed)
	}
	if damage.Live || damage.CleanEnd || damage.Whole() || len(damage.Skipped) > 0 {
		t.Errorf("damage: %+v", damage)
	}
	w, err := Create(path, HostMetadata(), Options{Overwrite: true})
	must(t, err) // the lock has gone with its process
	must(t, w.Close())
}

func TestExistingFileIsNotOverwrittenUnasked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.atr")
	must(t, os.WriteFile(path, []byte("precious"), 0o600))
	if _, err := Create(path, HostMetadata(), Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v, want that it exists", err)
	}
	if content, _ := os.ReadFile(path); string(content) != "precious" {
		t.Fatalf("the file now holds %q", content)
	}
	w, err := Create(path, HostMetadata(), Options{Overwrite: true})
	must(t, err)
	if _, err := Create(path, HostMetadata(), Options{Overwrite: true}); !errors.Is(err, ErrLocked) {
		t.Errorf("error %v, want ErrLocked", err)
	}
	must(t, w.Close())
	if _, damage := scan(t, path, ScanOptions{}); !damage.Whole() {
		t.Errorf("damage: %s", &damage)
	}
	if _, err := Create(t.TempDir(), HostMetadata(), Options{Overwrite: true}); err == nil ||
		!strings.Contains(err.Error(), "regular file") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Create(filepath.Join(path, "below"), HostMetadata(), Options{}); err == nil {
		t.Error("a path below a file was created")
	}
}

func TestClosedWriterTakesNothing(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "x.atr"))
	must(t, w.Close())
	if err := w.Samples(transfers(1, 1, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("samples after the end: %v", err)
	}
}

// blockCounts lists the counts of the blocks of a kind in a file.
func blockCounts(t *testing.T, path string, kind blockKind) (counts []int) {
	t.Helper()
	file, err := os.ReadFile(path)
	must(t, err)
	for _, b := range extents(t, file) {
		if b.kind == kind {
			counts = append(counts, int(b.count))
		}
	}
	return counts
}

func TestSmallBatchesAreGathered(t *testing.T) {
	for _, c := range []struct {
		name     string
		rows     []int // rows of each batch
		everyNs  int64 // between batches
		wantRows []int // rows of each block
	}{
		{"few in a second", []int{10, 20, 30}, 1e8, []int{60}},
		{"more than a second", []int{10, 20, 30, 40}, 6e8, []int{60, 40}},
		{"more than a block", []int{2000, 2000, 2000, 2000, 2000, 7}, 0, []int{8000, 2007}},
		{"full ones directly", []int{MaxBlockRows, 5, MaxBlockRows}, 0, []int{MaxBlockRows, 5, MaxBlockRows}},
		{"longer ones in parts", []int{2*MaxBlockRows + 1}, 0, []int{MaxBlockRows, MaxBlockRows, 1}},
		{"empty ones never", []int{0, 0}, 2e9, nil},
	} {
		path := filepath.Join(t.TempDir(), "x.atr")
		w := create(t, path)
		for i, n := range c.rows {
			b := tcp.NewBatch(n)
			b.Resize(n)
			for j := range b.TimeNs {
				b.TimeNs[j] = 1e12 + int64(i)*c.everyNs
				b.Flow[j] = 1
			}
			must(t, w.Samples(b))
		}
		must(t, w.Close())
		if got := blockCounts(t, path, blockSamples); fmt.Sprint(got) != fmt.Sprint(c.wantRows) {
			t.Errorf("%s: blocks of %v samples, want %v", c.name, got, c.wantRows)
		}
	}
}

func TestOldEventsAreFlushedByTheirTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.atr")
	w := create(t, path)
	for i := range int64(23) {
		must(t, w.Event(&tcp.Event{TimeNs: 1e12 + i*1e8, Flow: 1, Kind: tcp.EventSack}))
	}
	// Nothing is flushed by hand or closed: what a killed process would leave.
	if got := blockCounts(t, path, blockEvents); fmt.Sprint(got) != "[11 11]" {
		t.Errorf("blocks of %v events, want one of each second", got)
	}
	must(t, w.Close())
}

func TestUnchangedLossIsWrittenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.atr")
	w := create(t, path)
	for i := range int64(5) {
		must(t, w.Lost(&tcp.Loss{TimeNs: i, PerCPU: []uint64{uint64(i / 4)}}))
		must(t, w.Flush())
	}
	must(t, w.Close())
	got, _ := scan(t, path, ScanOptions{})
	if len(got.losses) != 2 || got.losses[0].Total() != 0 || got.losses[1].Total() != 1 {
		t.Errorf("losses: %+v", got.losses)
	}
}

func TestWritingAllocatesNothingOnceWarm(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "x.atr"))
	batch := transfers(MaxBlockRows, 3, 1)
	few := transfers(50, 3, 2)
	event := tcp.Event{TimeNs: few.TimeNs[0], Flow: 1, Kind: tcp.EventTimeout}
	record := func() {
		must(t, w.Samples(batch))
		must(t, w.Samples(few))
		must(t, w.Event(&event))
		must(t, w.Flush())
	}
	record()
	limit := float64(1) // the compressor's table may have been collected
	if raceDetector {
		limit = float64(2 * numColumns) // the race detector makes pools forget at random
	}
	if n := testing.AllocsPerRun(10, record); n > limit {
		t.Errorf("%.1f allocations per block", n)
	}
	must(t, w.Close())
}

func TestRecordingIsReadableByItsOwnerAlone(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "x.atr")
	must(t, os.WriteFile(path, nil, 0o666))
	for _, o := range []Options{{Overwrite: true}, {}} {
		w, err := Create(path, Metadata{}, o)
		must(t, err)
		must(t, w.Close())
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode() != 0o600 {
			t.Errorf("mode %s", info.Mode())
		}
		must(t, os.Remove(path))
	}
}

func TestRecordingDoesNotFollowALink(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(victim, []byte("precious"), 0o600))
	path := filepath.Join(t.TempDir(), "x.atr")
	must(t, os.Symlink(victim, path))
	for _, o := range []Options{{Overwrite: true}, {}} {
		if w, err := Create(path, Metadata{}, o); err == nil {
			w.Close()
			t.Error("the link was followed")
		}
	}
	if content, _ := os.ReadFile(victim); string(content) != "precious" {
		t.Errorf("the victim of a link holds %q", content)
	}
}
