package summary

import (
	"net/netip"
	"slices"
	"testing"

	"airtide/internal/tcp"
)

// Each connection counts once, by the end that sent more; both directions of it count.
func TestAConnectionCountsOnce(t *testing.T) {
	a := netip.MustParseAddrPort("192.0.2.1:1000")
	b := netip.MustParseAddrPort("192.0.2.9:80")
	c := netip.MustParseAddrPort("192.0.2.2:1000")
	recorded := []struct {
		comm            string
		local, remote   netip.AddrPort
		acked, received int64
	}{{"curl", a, b, 4e6, 1e6}, {"httpd", b, a, 1e6, 4e6}, {"curl", c, b, 5e6, tcp.Absent}, {"idle", c, a, 0, 0}}
	sum := func(endNs int64) (names []string, mbps []float64) {
		s := New(Options{BytesOnly: true})
		rows := tcp.NewBatch(2 * len(recorded))
		for i, of := range recorded {
			id := tcp.FlowID(i + 1)
			if err := s.Flow(&tcp.Flow{ID: id, Comm: of.comm, Local: of.local, Remote: of.remote}); err != nil {
				t.Fatal(err)
			}
			if of.comm == "idle" {
				continue
			}
			for _, at := range []int64{1e9, endNs} {
				row := tcp.Sample{Flow: id, TimeNs: at}
				for f := range row.Values {
					row.Values[f] = tcp.Absent
				}
				row.Values[tcp.AckedBytes] = of.acked
				row.Values[tcp.ReceivedBytes] = of.received
				rows.Append(&row)
			}
		}
		if err := s.Samples(rows); err != nil {
			t.Fatal(err)
		}
		return s.Rates(func(f *tcp.Flow) string { return f.Comm })
	}
	if names, mbps := sum(9e9); !slices.Equal(names, []string{"curl"}) || !slices.Equal(mbps, []float64{10}) {
		t.Errorf("%v at %v Mbit/s, want curl at 10", names, mbps)
	}
	if names, _ := sum(1e9); len(names) > 0 {
		t.Errorf("%v in no time", names)
	}
}
