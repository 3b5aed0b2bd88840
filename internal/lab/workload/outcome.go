package workload

import (
	"path/filepath"
	"time"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// outcome is a flow's result with the traffic that its programs report. A program's report of an
// upload counts only the bytes that its server had read by the end; the cell counts packets.
type outcome struct {
	result.Flow
	started time.Duration // since time zero
	// forward is the data from From to To, and reverse the data from To to From; nil without data.
	forward, reverse *traffic
}

// traffic describes data in one direction, summed over the connections of the flow.
type traffic struct {
	receivedBytes int64         // read by the receiver's program
	duration      time.Duration // from the establishment of the connections to the stop
	// rateBps is the received data over the duration, in bit/s.
	rateBps float64
	// These counts are for udp. Lost datagrams are gaps that the receiver saw; datagrams in flight
	// at the end do not count.
	sent, received, lost, outOfOrder int64
	jitter                           time.Duration // RFC 3550's, mean of the connections
}

// finish derives the result's summary from the traffic.
func (o *outcome) finish() {
	switch {
	case o.forward == nil:
		o.ReportedMbps = o.reverse.reportedMbps()
	default:
		o.ReportedMbps = o.forward.reportedMbps()
		o.ReportedReverseMbps = o.reverse.reportedMbps()
	}
	if plan.Protocol(o.Protocol) != plan.UDP {
		return
	}
	for _, t := range []*traffic{o.forward, o.reverse} {
		if t == nil {
			continue
		}
		if o.Datagrams == nil {
			o.Datagrams = &result.Datagrams{}
		}
		o.Datagrams.Sent += t.sent
		o.Datagrams.Lost += t.lost
		o.Datagrams.OutOfOrder += t.outOfOrder
		o.Datagrams.JitterMs = max(o.Datagrams.JitterMs, float64(t.jitter)/1e6)
	}
}

func (t *traffic) reportedMbps() *float64 {
	if t == nil {
		return nil
	}
	mbps := t.rateBps / 1e6
	return &mbps
}

// addOutput names a file with the output of a program.
func (o *outcome) addOutput(path string) { o.Output = append(o.Output, filepath.Base(path)) }
