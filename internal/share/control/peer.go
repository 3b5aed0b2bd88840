package control

import (
	"time"

	"airtide/internal/share/allocate"
	"airtide/internal/share/message"
)

// TerminalOf returns a peer as its newest report describes it. Its rate is the sum of both
// directions, since they use the same airtime.
func TerminalOf(p *message.Peer) Terminal {
	r := &p.Report
	t := Terminal{
		Source: p.Source,
		Max:    r.MaxKbps.Bps(), Rate: r.UploadKbps.Bps() + r.DownloadKbps.Bps(), Demand: allocate.Unlimited,
		Weight: float64(r.Weight) / 1000, Single: r.SingleFrames,
		MinRTT: time.Duration(r.MinRTTUs) * time.Microsecond, RTT: time.Duration(r.SmoothedRTTUs) * time.Microsecond,
	}
	if r.ApplicationLimited {
		t.Demand = r.DemandKbps.Bps()
	}
	return t
}
