package trace

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"airtide/internal/tcp"
)

// The kernel's samples are real; the others are synthetic, senders only, which is the dearer half.
var benchmarkData = []struct {
	name string
	make func(testing.TB) *tcp.Batch
}{
	{"kernel", func(t testing.TB) *tcp.Batch { return concatenated(t, kernelRecording) }},
	{"1_flow", func(testing.TB) *tcp.Batch { return transfers(4*MaxBlockRows, 1, 1) }},
	{"8_flows", func(testing.TB) *tcp.Batch { return transfers(4*MaxBlockRows, 8, 1) }},
	{"10000_flows", func(testing.TB) *tcp.Batch { return transfers(4*MaxBlockRows, 10000, 1) }},
}

// concatenated reads all samples of a file, in the order of time as a monitor sees them.
func concatenated(t testing.TB, path string) *tcp.Batch {
	k, _ := scan(t, path, ScanOptions{})
	rows := k.rows
	sortByTime(rows)
	b := tcp.NewBatch(len(rows))
	for i := range rows {
		b.Append(&rows[i])
	}
	return b
}

// nowhere is a file that keeps nothing.
type nowhere struct{ n int64 }

func (f *nowhere) Write(p []byte) (int, error)        { f.n += int64(len(p)); return len(p), nil }
func (f *nowhere) Close() error                       { return nil }
func (f *nowhere) Truncate(int64) error               { return nil }
func (f *nowhere) Seek(o int64, _ int) (int64, error) { return o, nil }

func BenchmarkWrite(b *testing.B) {
	for _, data := range benchmarkData {
		samples := data.make(b)
		for _, size := range []struct {
			name string
			rows int
		}{{"full_batches", MaxBlockRows}, {"batches_of_256", 256}} {
			b.Run(data.name+"/"+size.name, func(b *testing.B) {
				w := newWriter("x.atr", &nowhere{})
				at := 0
				next := func() {
					if at+size.rows > samples.Len() {
						at = 0
					}
					must(b, w.Samples(cut(samples, at, at+size.rows)))
					at += size.rows
				}
				next()
				before := w.Stats()
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					next()
				}
				b.StopTimer()
				must(b, w.Flush())
				after := w.Stats()
				n := float64(after.Samples - before.Samples)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/sample")
				b.ReportMetric(float64(after.Bytes-before.Bytes)/n, "bytes/sample")
			})
		}
	}
}

func BenchmarkRead(b *testing.B) { benchmarkRead(b, nil) }

func BenchmarkReadProjection(b *testing.B) {
	benchmarkRead(b, []tcp.Field{tcp.CwndPackets, tcp.SrttUs, tcp.CAStateField})
}

func benchmarkRead(b *testing.B, fields []tcp.Field) {
	for _, data := range benchmarkData {
		b.Run(data.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "x.atr")
			w := create(b, path)
			samples := data.make(b)
			for id := range slices.Max(samples.Flow) {
				must(b, w.Flow(flowNumber(id+1)))
			}
			for range 8 {
				must(b, w.Samples(samples))
			}
			must(b, w.Close())
			r, err := Open(path)
			must(b, err)
			defer r.Close()
			b.ResetTimer()
			for range b.N {
				must(b, r.Scan(context.Background(), ScanOptions{Fields: fields}, tcp.Discard{}))
			}
			n := float64(b.N) * float64(w.Stats().Samples)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/sample")
			b.ReportMetric(n/b.Elapsed().Seconds()/1e6, "Msamples/s")
		})
	}
}
