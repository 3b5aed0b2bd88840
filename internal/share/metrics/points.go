// Package metrics publishes the status of a running agent of airtide share: to Prometheus, which
// pulls it (Serve), and to an OTLP collector (Export).
package metrics

import (
	"context"
	"time"

	"airtide/internal/share"
)

// Look calls at with the agent's next status, as live.Tap does. at must not keep the status.
type Look func(ctx context.Context, at func(share.Status)) error

// patience is how long the next status may take.
const patience = time.Second

// definition is a metric. Its name is in the words of Prometheus; OTLP has dots in the places of
// the first underscores.
type definition struct {
	name, unit, help string
	label            string // what tells its points apart, "" where there is one only
	counter          bool
}

// The metrics. Names end in their unit, as Prometheus wants it.
var (
	held     = &definition{name: "held", help: "1 while bounds are in force, else 0."}
	peers    = &definition{name: "peers", help: "Other terminals that are heard."}
	own      = &definition{name: "share_bps", unit: "bit/s", help: "The terminal's share."}
	total    = &definition{name: "total_bps", unit: "bit/s", help: "The sum of all shares."}
	capacity = &definition{
		name: "capacity_bps", unit: "bit/s", help: "What the wire is found to carry, while it is known.",
	}
	queue      = &definition{name: "queue_target_seconds", unit: "s", help: "How long a packet should wait."}
	correction = &definition{name: "correction_ratio", unit: "1", help: "What windows are multiplied by."}
	limit      = &definition{name: "limit", help: "1 for what keeps shares from being greater.", label: "limit"}
	flows      = &definition{name: "bound_flows", help: "Flows that have a bound.", label: "window"}
	windows    = &definition{
		name: "cwnd_max_packets", unit: "{packet}", help: "The sum of the bounds of congestion windows.",
	}
	receive = &definition{name: "rwnd_max_bytes", unit: "By", help: "The sum of the bounds of receive windows."}
	maximum = &definition{
		name: "terminal_max_bps", unit: "bit/s", help: "What a terminal reaches alone, where it is known.",
		label: "terminal",
	}
	upload = &definition{
		name: "terminal_upload_bps", unit: "bit/s", help: "What a terminal sends.", label: "terminal",
	}
	download = &definition{
		name: "terminal_download_bps", unit: "bit/s", help: "What a terminal receives.", label: "terminal",
	}
	demand = &definition{
		name: "terminal_demand_bps", unit: "bit/s",
		help: "What a terminal would send at most, where its applications limit it.", label: "terminal",
	}
	minRTT = &definition{
		name: "terminal_min_rtt_seconds", unit: "s", help: "A terminal's smallest RTT.", label: "terminal",
	}
	rtt = &definition{
		name: "terminal_rtt_seconds", unit: "s", help: "A terminal's smoothed RTT.", label: "terminal",
	}
	bound = &definition{
		name: "terminal_bound_bps", unit: "bit/s", help: "The share that a terminal keeps to, while it does.",
		label: "terminal",
	}
	phy = &definition{
		name: "terminal_phy_bps", unit: "bit/s", help: "The rate of a terminal's radio, where it is known.",
		label: "terminal",
	}
	rtt95 = &definition{
		name: "terminal_rtt_p95_seconds", unit: "s", help: "The 95th percentile of a terminal's RTT.",
		label: "terminal",
	}
	queued = &definition{
		name: "terminal_queued_bytes", unit: "By", help: "What a terminal has written and is not acknowledged.",
		label: "terminal",
	}
	again = &definition{
		name: "terminal_retransmits_total", unit: "{segment}", help: "Segments that a terminal has sent again.",
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
		name: "effect_total_bps", unit: "bit/s",
		help: "What all terminals deliver with and without bounds, when that was compared last.", label: "bounds",
	}
	rttBounds = &definition{
		name: "effect_rtt_seconds", unit: "s",
		help: "The mean RTT with and without bounds, when that was compared last.", label: "bounds",
	}
	leastPart = &definition{
		name: "effect_least_ratio", unit: "1",
		help: "The least part of its rate without bounds that a terminal had with them, when that was compared last.",
	}
	helps = &definition{
		name: "effect_helps", help: "1 where bounds were found to help when that was compared last, else 0.",
	}
	datagrams = &definition{
		name: "datagrams_total", unit: "{datagram}", help: "Datagrams received, by what became of them.",
		label: "reason", counter: true,
	}

	definitions = []*definition{
		held, peers, own, total, capacity, queue, correction, limit, flows, windows, receive, maximum, upload,
		download, demand, minRTT, rtt,
		bound, phy, rtt95, queued, again, errors1, errors2, errors3, errors4, withBounds, rttBounds, leastPart,
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
	add(held, "", one(s.Held))
	add(peers, "", float64(len(s.Peers)))
	known(own, "", s.ShareBps)
	known(total, "", s.TotalBps)
	known(capacity, "", s.CapacityBps)
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
		known(maximum, name, t.MaxBps)
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
	if e := s.Effect; e != nil {
		add(withBounds, "with", e.TotalWithBps)
		add(withBounds, "without", e.TotalWithoutBps)
		add(rttBounds, "with", seconds(e.RTTWithUs))
		add(rttBounds, "without", seconds(e.RTTWithoutUs))
		known(leastPart, "", e.LeastPart)
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

// points takes the next status's.
func (l Look) points(ctx context.Context) (all []point, cell, policy string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = l(ctx, func(s share.Status) { all, cell, policy = points(&s), s.Cell, string(s.Policy) })
	return all, cell, policy, err
}
