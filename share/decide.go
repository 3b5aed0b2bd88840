package share

import (
	"math"
	"time"

	"airtide/share/control"
	"airtide/share/hold"
)

// decide finds the bounds of the flows, or why there are none.
func (a *agent) decide(now, quiet time.Duration) (bounds []hold.Bound, why string) {
	s := &a.status
	s.ShareBps, s.TotalBps, s.CapacityBps, s.Limit, s.QueueTargetUs, s.Correction = 0, 0, 0, "", 0, 0
	switch {
	case len(a.peers) == 0:
		return nil, "no other terminal is heard"
	case quiet > silence:
		return nil, "nobody has been heard for a second"
	case a.self.alone() == 0:
		return nil, "it is not known what this terminal reaches alone"
	}
	if a.config.Policy == control.EqualCapPolicy {
		return a.equalCap()
	}
	all := []control.Terminal{a.self.terminal()}
	for _, p := range a.peers {
		if t, known := of(&p.Report); known {
			all = append(all, t)
		}
	}
	d, err := a.control.Step(now, 0, all)
	if err != nil {
		return nil, err.Error()
	}
	s.ShareBps, s.TotalBps, s.Limit = d.Share, d.Total, d.Binds.String()
	s.QueueTargetUs, s.Correction = d.QueueTarget.Microseconds(), d.Correction
	if !math.IsInf(d.Capacity, 1) {
		s.CapacityBps = d.Capacity
	}
	return a.windows(d.Window), ""
}

// equalCap bounds every flow by the window that an equal part of the capacity needs.
func (a *agent) equalCap() ([]hold.Bound, string) {
	n := 1
	for _, p := range a.peers {
		if p.Report.UploadKbps > 0 {
			n++
		}
	}
	share := a.config.CapacityBps / float64(n)
	a.status.ShareBps, a.status.TotalBps, a.status.Correction = share, a.config.CapacityBps, 1
	return a.windows(func(part float64, minRTT time.Duration) float64 {
		return control.EqualCap(share*part, minRTT, a.self.state.RTT)
	}), ""
}

// leastWindow in packets: with less a loss is found by timeout.
const leastWindow = 4

// windows gives each flow that sends an equal part. One that has not sent yet is not bound: it has a few packets.
func (a *agent) windows(bytes func(part float64, minRTT time.Duration) float64) (bounds []hold.Bound) {
	sending := 0
	for _, f := range a.self.state.Flows {
		if f.Up > 0 {
			sending++
		}
	}
	for _, f := range a.self.state.Flows {
		if f.Up == 0 || f.MinRTT == 0 || f.MSS == 0 {
			continue
		}
		packets := bytes(1/float64(sending), f.MinRTT) / float64(f.MSS)
		bounds = append(bounds, hold.Bound{
			Local: f.Local, Remote: f.Remote, Packets: uint32(min(max(packets, leastWindow), math.MaxInt32)),
		})
	}
	return bounds
}
