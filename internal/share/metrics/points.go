// Package metrics makes metrics of the status of a running agent of airtide share.
package metrics

import (
	"context"
	"fmt"
	"time"

	"airtide/internal/share"
	"airtide/internal/sys/metrics"
)

// Look calls at with the agent's next status, as statusfeed.Feed.Next does. at must not keep the
// status.
type Look func(ctx context.Context, at func(share.Status)) error

// statusTimeout is the longest wait for the next status.
const statusTimeout = time.Second

// definition makes a metric. label distinguishes its points; "" if there is one.
func definition(name, unit, help, label string) *metrics.Metric {
	m := &metrics.Metric{Name: "airtide.share." + name, Unit: unit, Help: help}
	if label != "" {
		m.Labels = []string{label}
	}
	return m
}

func counter(name, unit, help, label string) *metrics.Metric {
	m := definition(name, unit, help, label)
	m.Counter = true
	return m
}

// The metrics. Names end in their units, as Prometheus recommends.
var (
	bounded    = definition("bounded", "", "1 while windows are bounded, otherwise 0.", "")
	peers      = definition("peers", "", "Other terminals with current reports.", "")
	own        = definition("share_bps", "bit/s", "Share of this terminal.", "")
	total      = definition("total_bps", "bit/s", "Sum of all shares.", "")
	wire       = definition("wire_bps", "bit/s", "Capacity of the wire, while it is known to limit.", "")
	queue      = definition("queue_target_seconds", "s", "Time that a packet should wait in queues.", "")
	correction = definition("correction_ratio", "1", "Factor of the windows.", "")
	limit      = definition("limit", "", "1 for the present limit of the shares.", "limit")
	flows      = definition("bound_flows", "", "Flows with a bounded window.", "window")
	windows    = definition("cwnd_max_packets", "{packet}", "Sum of the bounds of congestion windows.", "")
	receive    = definition("rwnd_max_bytes", "By", "Sum of the bounds of receive windows.", "")
	standalone = definition(
		"terminal_standalone_bps", "bit/s", "Rate of a terminal alone in the cell, if known.", "terminal",
	)
	upload   = definition("terminal_upload_bps", "bit/s", "Rate that a terminal sends.", "terminal")
	download = definition("terminal_download_bps", "bit/s", "Rate that a terminal receives.", "terminal")
	demand   = definition(
		"terminal_demand_bps", "bit/s", "Highest rate that a terminal needs, if its applications limit it.", "terminal",
	)
	minRTT = definition("terminal_min_rtt_seconds", "s", "A terminal's smallest RTT.", "terminal")
	rtt    = definition("terminal_rtt_seconds", "s", "A terminal's smoothed RTT.", "terminal")
	bound  = definition("terminal_bound_bps", "bit/s", "Share to which a terminal's windows are bounded.", "terminal")
	phy    = definition("terminal_phy_bps", "bit/s", "PHY rate of a terminal, if known.", "terminal")
	rtt95  = definition("terminal_rtt_p95_seconds", "s", "95th percentile of a terminal's RTT.", "terminal")
	queued = definition(
		"terminal_queued_bytes", "By", "Bytes of a terminal that are not yet acknowledged.", "terminal",
	)
	again      = counter("terminal_retransmits_total", "{segment}", "Segments that a terminal sent again.", "terminal")
	errors1    = counter("terminal_reordering_total", "{error}", "A terminal's errors of code 1.", "terminal")
	errors2    = counter("terminal_local_congestion_total", "{error}", "A terminal's errors of code 2.", "terminal")
	errors3    = counter("terminal_duplicate_acks_total", "{error}", "A terminal's errors of code 3.", "terminal")
	errors4    = counter("terminal_timeouts_total", "{error}", "A terminal's errors of code 4.", "terminal")
	withBounds = definition(
		"benefit_total_bps", "bit/s",
		"Rate of terminals that were not idle, with and without bounds, in the last comparison.", "bounds",
	)
	rttBounds = definition(
		"benefit_rtt_seconds", "s", "Mean RTT with and without bounds, in the last comparison.", "bounds",
	)
	lowestRatio = definition(
		"benefit_lowest_ratio", "1",
		"Lowest ratio of a terminal's rate with bounds to that without, in the last comparison.", "",
	)
	helps     = definition("benefit_helps", "", "1 if bounds helped in the last comparison, otherwise 0.", "")
	datagrams = counter("datagrams_total", "{datagram}", "Datagrams received, by outcome.", "reason")

	definitions = []*metrics.Metric{
		bounded, peers, own, total, wire, queue, correction, limit, flows, windows, receive, standalone, upload,
		download, demand, minRTT, rtt,
		bound, phy, rtt95, queued, again, errors1, errors2, errors3, errors4, withBounds, rttBounds, lowestRatio,
		helps, datagrams,
	}
)

// points returns the metrics of a status. An unknown value has no point.
func points(s *share.Status) []metrics.Point {
	var all []metrics.Point
	add := func(m *metrics.Metric, of string, value float64) {
		p := metrics.Point{Metric: m, Value: value}
		if len(m.Labels) > 0 {
			p.Of = []string{of}
		}
		all = append(all, p)
	}
	known := func(d *metrics.Metric, of string, value float64) {
		if value > 0 {
			add(d, of, value)
		}
	}
	add(bounded, "", one(s.Bounded))
	add(peers, "", float64(len(s.Peers)))
	known(own, "", s.ShareBps)
	known(total, "", s.TotalBps)
	known(wire, "", s.WireBps)
	known(queue, "", seconds(s.QueueTargetUs))
	known(correction, "", s.Correction)
	if s.Limit != "" {
		add(limit, s.Limit, 1)
	}
	var packets, bytes, up, down float64
	for _, w := range s.Windows {
		packets += float64(w.Packets)
		bytes += float64(w.ReceiveBytes)
		if w.Packets > 0 {
			up++
		}
		if w.ReceiveBytes > 0 {
			down++
		}
	}
	add(flows, "congestion", up)
	add(flows, "receive", down)
	add(windows, "", packets)
	add(receive, "", bytes)
	terminal := func(name string, t *share.Terminal) {
		known(standalone, name, t.StandaloneBps)
		add(upload, name, t.UploadBps)
		add(download, name, t.DownloadBps)
		known(demand, name, t.DemandBps)
		known(minRTT, name, seconds(t.MinRTTUs))
		known(rtt, name, seconds(t.RTTUs))
		known(bound, name, t.BoundBps)
		known(phy, name, t.PHYBps)
		known(rtt95, name, seconds(t.RTT95Us))
		add(queued, name, float64(t.QueuedBytes))
		add(again, name, float64(t.Retransmits))
		for i, d := range []*metrics.Metric{errors1, errors2, errors3, errors4} {
			add(d, name, float64(t.Errors[i]))
		}
	}
	terminal("own", &s.Own)
	for i := range s.Peers {
		terminal(s.Peers[i].Address, &s.Peers[i])
	}
	if e := s.Benefit; e != nil {
		add(withBounds, "with", e.TotalWithBps)
		add(withBounds, "without", e.TotalWithoutBps)
		add(rttBounds, "with", seconds(e.RTTWithUs))
		add(rttBounds, "without", seconds(e.RTTWithoutUs))
		known(lowestRatio, "", e.LowestRatio)
		add(helps, "", one(e.Helps))
	}
	for reason, n := range s.Datagrams {
		add(datagrams, reason, float64(n))
	}
	return all
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func seconds(us int64) float64 { return float64(us) / 1e6 }

// Set returns the metrics of an agent.
func Set(look Look) *metrics.Set { return &metrics.Set{Metrics: definitions, Gather: look.gather} }

// gather returns the metrics of the next status.
func (l Look) gather(ctx context.Context) (all []metrics.Point, labels []metrics.Label, err error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	err = l(ctx, func(s share.Status) {
		all = points(&s)
		labels = []metrics.Label{{Name: "cell", Value: s.Cell}, {Name: "policy", Value: string(s.Policy)}}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("the agent gives no status: %w", err)
	}
	return all, labels, nil
}
