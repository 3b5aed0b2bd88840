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
	bytes := func(n int64) *int64 { return &n }
	report := Report{Flows: []Flow{
		{
			Flow:    tcp.Flow{Comm: "curl", Local: a, Remote: b},
			Figures: Figures{AckedBytes: bytes(4e6), ReceivedBytes: bytes(1e6)},
		},
		{
			Flow:    tcp.Flow{Comm: "httpd", Local: b, Remote: a},
			Figures: Figures{AckedBytes: bytes(1e6), ReceivedBytes: bytes(4e6)},
		},
		{Flow: tcp.Flow{Comm: "curl", Local: c, Remote: b}, Figures: Figures{AckedBytes: bytes(5e6)}},
		{Flow: tcp.Flow{Comm: "idle", Local: c, Remote: a}},
	}}
	names, mbps := report.list().Rates(8, func(f *Flow) string { return f.Comm })
	if !slices.Equal(names, []string{"curl"}) || !slices.Equal(mbps, []float64{10}) {
		t.Errorf("%v at %v Mbit/s, want curl at 10", names, mbps)
	}
	if names, _ := report.list().Rates(0, func(f *Flow) string { return f.Comm }); len(names) > 0 {
		t.Errorf("%v in no time", names)
	}
}
