// Package metrics publishes the status of a running agent of airtide share: to Prometheus, which
// pulls it (Serve), and to an OTLP collector (Export).
package metrics

import (
	"context"
	"time"

	"airtide/internal/share"
)

// Look calls at with the agent's next status, as statusfeed.Feed.Next does. at must not keep the
// status.
type Look func(ctx context.Context, at func(share.Status)) error

// statusTimeout is the longest wait for the next status.
const statusTimeout = time.Second

// definition describes a metric. Its name is for Prometheus. OTLP has dots instead of the first
// underscores.
type definition struct {
	name, unit, help string
	label            string // name of the label that distinguishes its points, "" if there is one point
	counter          bool
}

// The metrics. Names end in their units, as Prometheus recommends.
var (
	bounded = &definition{name: "bounded", help: "1 while windows are bounded, otherwise 0."}
	peers   = &definition{name: "peers", help: "Other terminals with current reports."}
	own     = &definition{name: "share_bps", unit: "bit/s", help: "Share of this terminal."}
	total   = &definition{name: "total_bps", unit: "bit/s", help: "Sum of all shares."}
	wire    = &definition{
		name: "wire_bps", unit: "bit/s", help: "Capacity of the wire, while it is known to limit.",
	}
	queue      = &definition{name: "queue_target_seconds", unit: "s", help: "Time that a packet should wait in queues."}
	correction = &definition{name: "correction_ratio", unit: "1", help: "Factor of the windows."}
	limit      = &definition{name: "limit", help: "1 for the present limit of the shares.", label: "limit"}
	flows      = &definition{name: "bound_flows", help: "Flows with a bounded window.", label: "window"}
	windows    = &definition{
		name: "cwnd_max_packets", unit: "{packet}", help: "Sum of the bounds of congestion windows.",
	}
	receive    = &definition{name: "rwnd_max_bytes", unit: "By", help: "Sum of the bounds of receive windows."}
	standalone = &definition{
		name: "terminal_standalone_bps", unit: "bit/s", help: "Rate of a terminal alone in the cell, if known.",
		label: "terminal",
	}
	upload = &definition{
		name: "terminal_upload_bps", unit: "bit/s", help: "Rate that a terminal sends.", label: "terminal",
	}
	download = &definition{
		name: "terminal_download_bps", unit: "bit/s", help: "Rate that a terminal receives.", label: "terminal",
	}
	demand = &definition{
		name: "terminal_demand_bps", unit: "bit/s",
		help: "Highest rate that a terminal needs, if its applications limit it.", label: "terminal",
	}
	minRTT = &definition{
		name: "terminal_min_rtt_seconds", unit: "s", help: "A terminal's smallest RTT.", label: "terminal",
	}
	rtt = &definition{
		name: "terminal_rtt_seconds", unit: "s", help: "A terminal's smoothed RTT.", label: "terminal",
	}
	bound = &definition{
		name: "terminal_bound_bps", unit: "bit/s", help: "Share to which a terminal's windows are bounded.",
		label: "terminal",
	}
	phy = &definition{
		name: "terminal_phy_bps", unit: "bit/s", help: "PHY rate of a terminal, if known.",
		label: "terminal",
	}
	rtt95 = &definition{
		name: "terminal_rtt_p95_seconds", unit: "s", help: "95th percentile of a terminal's RTT.",
		label: "terminal",
	}
	queued = &definition{
		name: "terminal_queued_bytes", unit: "By", help: "Bytes of a terminal that are not yet acknowledged.",
		label: "terminal",
	}
	again = &definition{
		name: "terminal_retransmits_total", unit: "{segment}", help: "Segments that a terminal sent again.",
		label: "terminal", counter: true,
	}
	errors1 = &definition{
		name: "terminal_reordering_total", unit: "{error}", help: "A terminal's errors of code 1.",
		label: "terminal", counter: true,
	}
	errors2 = &definition{
		name: "terminal_local_congestion_total", unit: "{error}", help: "A terminal's errors of code 2.",
		label: "terminal", counter: true,
	}
	errors3 = &definition{
		name: "terminal_duplicate_acks_total", unit: "{error}", help: "A terminal's errors of code 3.",
		label: "terminal", counter: true,
	}
	errors4 = &definition{
		name: "terminal_timeouts_total", unit: "{error}", help: "A terminal's errors of code 4.", label: "terminal",
		counter: true,
	}
	withBounds = &definition{
		name: "benefit_total_bps", unit: "bit/s",
		help: "Rate of terminals that were not idle, with and without bounds, in the last comparison.", label: "bounds",
	}
	rttBounds = &definition{
		name: "benefit_rtt_seconds", unit: "s",
		help: "Mean RTT with and without bounds, in the last comparison.", label: "bounds",
	}
	lowestRatio = &definition{
		name: "benefit_lowest_ratio", unit: "1",
		help: "Lowest ratio of a terminal's rate with bounds to that without, in the last comparison.",
	}
	helps = &definition{
		name: "benefit_helps", help: "1 if bounds helped in the last comparison, otherwise 0.",
	}
	datagrams = &definition{
		name: "datagrams_total", unit: "{datagram}", help: "Datagrams received, by outcome.",
		label: "reason", counter: true,
	}

	definitions = []*definition{
		bounded, peers, own, total, wire, queue, correction, limit, flows, windows, receive, standalone, upload,
		download, demand, minRTT, rtt,
		bound, phy, rtt95, queued, again, errors1, errors2, errors3, errors4, withBounds, rttBounds, lowestRatio,
		helps, datagrams,
	}
)

// point is a metric's value, for one value of its label.
type point struct {
	*definition
	of    string
	value float64
}

// points returns the metrics of a status. An unknown value has no point.
func points(s *share.Status) []point {
	var all []point
	add := func(d *definition, of string, value float64) { all = append(all, point{d, of, value}) }
	known := func(d *definition, of string, value float64) {
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
		for i, d := range []*definition{errors1, errors2, errors3, errors4} {
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

// points returns the metrics of the next status.
func (l Look) points(ctx context.Context) (all []point, cell, policy string, err error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	err = l(ctx, func(s share.Status) {
		all = points(&s)
		cell = s.Cell
		policy = string(s.Policy)
	})
	return all, cell, policy, err
}
