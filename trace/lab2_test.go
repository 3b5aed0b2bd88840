package trace

import (
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"

	"airtide/tcp"
)

func TestLabRW(t *testing.T) {
	if os.Getenv("PROF") != "" {
		f, _ := os.Create(os.Getenv("PROF"))
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	for _, name := range strings.Fields(os.Getenv("NAMES")) {
		b := load(name)
		path := filepath.Join(t.TempDir(), "x.atr")
		var stats Stats
		a := cpu()
		w, err := Create(path, HostMetadata(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Samples(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		wr := cpu() - a
		stats = w.Stats()
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			a = cpu()
			if err := r.Scan(ScanOptions{}, tcp.Discard{}); err != nil {
				t.Fatal(err)
			}
			rd := cpu() - a
			a = cpu()
			if err := r.Scan(ScanOptions{Fields: []tcp.Field{tcp.CwndPackets, tcp.SrttUs}}, tcp.Discard{}); err != nil {
				t.Fatal(err)
			}
			pj := cpu() - a
			n := float64(b.Len())
			d := r.Damage()
			t.Logf("%s write %.1f read %.1f projection %.1f ns %.2f bytes %s", name, float64(wr)/n, float64(rd)/n, float64(pj)/n, float64(stats.Bytes)/n, d.String())
		}
	}
}
