package trace

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/tcp"
)

func load(name string) *tcp.Batch {
	d, err := os.ReadFile("/tmp/tracelab/" + name + ".bin")
	if err != nil {
		panic(err)
	}
	const w = 8 * (2 + int(tcp.NumStored))
	n := len(d) / w
	b := tcp.NewBatch(n)
	b.Resize(n)
	for i := range n {
		r := d[i*w:]
		b.TimeNs[i] = int64(binary.LittleEndian.Uint64(r))
		b.Flow[i] = tcp.FlowID(binary.LittleEndian.Uint64(r[8:]))
		for f := range int(tcp.NumStored) {
			b.Cols[f][i] = int64(binary.LittleEndian.Uint64(r[16+8*int(f):]))
		}
	}
	if os.Getenv("SENDERS") != "" {
		last := map[tcp.FlowID]int{}
		for i := range n {
			last[b.Flow[i]] = i
		}
		o := tcp.NewBatch(n)
		var s tcp.Sample
		for i := range n {
			j := last[b.Flow[i]]
			if b.Cols[tcp.AckBytes][j] > b.Cols[tcp.SeqBytes][j] {
				b.Row(i, &s)
				o.Append(&s)
			}
		}
		return o
	}
	return b
}

func cpu() time.Duration {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}

var sinkhole uint64

// cal is the time of a throughput-bound loop over values in L1, in ns per 1000 values.
func cal() time.Duration {
	best := time.Hour
	var v [2048]int64
	for range 12 {
		a := cpu()
		var s1, s2, s3, s4 uint64
		for range 20 {
			for i := 0; i < len(v); i += 4 {
				s1 += zigzag(v[i] ^ int64(s2))
				s2 += zigzag(v[i+1] ^ 7)
				s3 += zigzag(v[i+2] ^ 5)
				s4 += zigzag(v[i+3] ^ 3)
			}
		}
		sinkhole = s1 + s2 + s3 + s4
		best = min(best, cpu()-a)
	}
	return best / 40
}

func TestLab(t *testing.T) {
	names := strings.Fields(os.Getenv("NAMES"))
	for _, name := range names {
		b := load(name)
		t.Log("rows calibration", cal())
		for _, size := range []int{8192} {
			var bl []*tcp.Batch
			for at := 0; at+size <= b.Len() && len(bl) < 40960/size; at += size {
				o := tcp.NewBatch(size)
				o.TimeNs = append(o.TimeNs, b.TimeNs[at:at+size]...)
				o.Flow = append(o.Flow, b.Flow[at:at+size]...)
				for f := range o.Cols {
					o.Cols[f] = append(o.Cols[f], b.Cols[f][at:at+size]...)
				}
				bl = append(bl, o)
			}
			for mode, modename := range strings.Fields(os.Getenv("MODES")) {
				_ = mode
				var e samplesEncoder
					best := time.Hour
				bytes, heads, rawheads := 0, 0, 0
				n := 0
				one := tcp.NewBatch(size)
			one.Resize(size)
			for range 12 {
				bytes, n, heads, rawheads = 0, 0, 0, 0
				var took time.Duration
				for _, x := range bl {
					copy(one.TimeNs, x.TimeNs)
					copy(one.Flow, x.Flow)
					for f := range x.Cols {
						copy(one.Cols[f], x.Cols[f])
					}
					start := cpu()
					e.encode(rows{one, 0, x.Len()})
					e.packed = compress(e.packed[:0], e.head)
					took += cpu() - start
					bytes += len(e.packed) + len(e.body)
					heads += len(e.packed)
					rawheads += len(e.head)
					n += x.Len()
				}
				best = min(best, took)
			}
			t.Logf("%s %s %d rows: %.1f ns/sample %.2f bytes/sample; heads %.2f raw %.2f", name, modename, size, float64(best)/float64(n), float64(bytes)/float64(n), float64(heads)/float64(n), float64(rawheads)/float64(n))
			}
		}
	}
}
