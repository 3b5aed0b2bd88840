package export

import (
	"os"
	"path/filepath"
	"testing"

	"airtide/internal/tcp"
)

// BenchmarkExport measures each format with the 45 or so fields that a CUBIC sender has; one
// operation is one sample. The batch is the same again and again, with times moved on, so that
// making it costs nothing.
func BenchmarkExport(b *testing.B) {
	for _, format := range Formats() {
		b.Run(string(format), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "out."+string(format))
			x, err := New(format, path, testMeta, Options{})
			if err != nil {
				b.Fatal(err)
			}
			flows := testFlows()
			for i := range flows {
				x.Flow(&flows[i])
			}
			const size = 1 << 15
			batch := tcp.NewBatch(size)
			fillBatch(batch, 0, size, len(flows))
			n := 0
			b.ResetTimer()
			for n = 0; n < b.N; n += size {
				for i := range batch.TimeNs {
					batch.TimeNs[i] += size * 10_000
				}
				if err := x.Samples(batch); err != nil {
					b.Fatal(err)
				}
			}
			if err := x.Close(); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "samples/s")
			b.ReportMetric(float64(info.Size())/float64(n), "B/sample")
		})
	}
}
