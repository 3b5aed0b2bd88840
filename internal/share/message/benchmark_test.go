package message

import (
	"encoding/binary"
	"testing"

	"airtide/internal/share/cellkey"
)

// BenchmarkReceive measures the cost of an accepted report, and of each kind of attack.
func BenchmarkReceive(b *testing.B) {
	k := cellkey.New()
	x := newAgent(k, 1, 0)
	y := newAgent(k, 2, 0)
	acquaint(b, x, y, 0)
	b.Run("accepted", func(b *testing.B) {
		b.ReportAllocs()
		now := y.nowNs
		for b.Loop() {
			b.StopTimer()
			now += 100 * ms
			tell(b, y, x, now)
			d := x.send(b, now)
			b.StartTimer()
			if _, reason := y.Receive(x.at, d, now); reason != Accepted {
				b.Fatal(reason)
			}
		}
	})
	junk := append(header{k.Tag(), 99, 99}.appendAs(nil, magic), make([]byte, 121)...)
	b.Run("wrong_key", func(b *testing.B) {
		b.ReportAllocs()
		now := y.nowNs
		for i := uint64(0); b.Loop(); i++ {
			now += 100 * ms
			binary.LittleEndian.PutUint64(junk[atSession:], i|1<<63)
			if _, reason := y.Receive(address(66), junk, now); reason != WrongKey {
				b.Fatal(reason)
			}
		}
	})
	b.Run("rate_limited", func(b *testing.B) {
		b.ReportAllocs()
		for range 2 * perSource.burst {
			y.Receive(address(77), junk, y.nowNs)
		}
		for b.Loop() {
			if _, reason := y.Receive(address(77), junk, y.nowNs); reason != RateLimited {
				b.Fatal(reason)
			}
		}
	})
}
