package control

import (
	"time"

	"airtide/internal/share/allocate"
	"airtide/internal/share/message"
)

// TerminalOf is a peer as its newest report tells of it. What it sends and what it receives take of
// the same airtime.
func TerminalOf(p *message.Peer) Terminal {
	r := &p.Report
	t := Terminal{
		Source: p.Source,
		Max:    r.MaxKbps.Bps(), Rate: r.UploadKbps.Bps() + r.DownloadKbps.Bps(), Demand: allocate.Unlimited, Weight: float64(r.Weight) / 1000,
		Measured: r.MaxSource == message.Measured, Single: r.SingleFrames, Period: time.Duration(r.PeriodMs) * time.Millisecond,
		MinRTT: time.Duration(r.MinRTTUs) * time.Microsecond, RTT: time.Duration(r.SmoothedRTTUs) * time.Microsecond,
	}
	if r.ApplicationLimited {
		t.Demand = r.DemandKbps.Bps()
	}
	return t
}
