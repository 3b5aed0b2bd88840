package summary

import (
	"testing"

	"airtide/internal/tcp"
)

// batchOf makes a batch as a busy host does: flows take turns, values change from ACK to ACK.
func batchOf(rows int, flows tcp.FlowID) *tcp.Batch {
	b := tcp.NewBatch(rows)
	b.Resize(rows)
	for f := range b.Cols {
		for i := range b.Cols[f] {
			b.Cols[f][i] = tcp.Absent
		}
	}
	for i := range rows {
		b.TimeNs[i] = t0 + int64(i)*10_000
		b.Flow[i] = 1 + tcp.FlowID(i/8)%flows // GRO and the softirq's turns make short trains
		n := int64(i)
		for f, v := range (values{
			tcp.AckBytes: n*2896 + 2896, tcp.AckedBytes: n * 2896, tcp.SentBytes: n*2896 + 1e6, tcp.SegmentBytes: 0,
			tcp.SeqBytes:      0,
			tcp.ReceivedBytes: 0, tcp.CwndPackets: 100 + n%40/8, tcp.InFlightPackets: 90 + n%17, tcp.CAStateField: 0,
			tcp.SrttUs: 10_000 + n%300, tcp.RttUs: 10_000 + n*37%2000, tcp.MinRttUs: 9000,
			tcp.DeliveredPackets: n * 2, tcp.LostPackets: 3,
			tcp.RetransmitsPackets: 3, tcp.RetransmittedBytes: 4344, tcp.BusyUs: n * 10, tcp.RwndLimitedUs: 0,
			tcp.SndbufLimitedUs: 0,
		}) {
			b.Cols[f][i] = v
		}
	}
	return b
}

func BenchmarkSamples(b *testing.B) {
	for _, c := range []struct {
		name  string
		flows tcp.FlowID
	}{{"1 flow", 1}, {"16 flows", 16}, {"1000 flows", 1000}} {
		b.Run(c.name, func(b *testing.B) {
			const rows = 8192
			batch := batchOf(rows, c.flows)
			s := New(Options{})
			for b.Loop() {
				if err := s.Samples(batch); err != nil {
					b.Fatal(err)
				}
				for i := range batch.TimeNs { // time and streams go on
					batch.TimeNs[i] += rows * 10_000
					batch.Cols[tcp.AckBytes][i] += rows * 2896
					batch.Cols[tcp.AckedBytes][i] += rows * 2896
					batch.Cols[tcp.SentBytes][i] += rows * 2896
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msamples/s")
		})
	}
}

// The fields that are announced are enough: all others may be left undecoded.
func TestFieldsAreAllThatIsRead(t *testing.T) {
	batch := batchOf(64, 2)
	stripped := tcp.NewBatch(64)
	stripped.Resize(64)
	copy(stripped.TimeNs, batch.TimeNs)
	copy(stripped.Flow, batch.Flow)
	for f := range stripped.Cols {
		for i := range stripped.Cols[f] {
			stripped.Cols[f][i] = 0x5555 // stands for any older value
		}
	}
	for _, f := range Fields() {
		copy(stripped.Cols[f], batch.Cols[f])
	}
	full := New(Options{})
	projected := New(Options{})
	if err := full.Samples(batch); err != nil {
		t.Fatal(err)
	}
	if err := projected.Samples(stripped); err != nil {
		t.Fatal(err)
	}
	if a, b := text(t, full.Report(), TextOptions{}), text(t, projected.Report(), TextOptions{}); a != b {
		t.Errorf("with all fields\n%s\nwith those of Fields\n%s", a, b)
	}
}
