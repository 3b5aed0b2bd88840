package cause

import (
	"fmt"
	"time"
)

// wireless is a station with a radio of a PHY rate in Mbit/s and a queue in packets.
func wireless(phyMbps float64, queue int, rtt time.Duration, more string) string {
	return fmt.Sprintf("terminals: {client: {radio: {standard: n, phy_rate: %.1f Mbit/s, queue: %d packets%s}, "+
		"congestion: cubic}}\nservers: {server: {congestion: cubic}}\npath: {rate: 1 Gbit/s, rtt: %d ms}\n",
		phyMbps, queue, more, rtt.Milliseconds())
}

// others are causes of the other families with another direction, congestion control or link.
func others(d draw) []Situation {
	p := d.pipe()
	part := d.between(0.1, 0.4)
	buffer := max(4<<10, int(part*p.bdp()))
	every := time.Duration(d.between(5, 60)) * time.Millisecond
	slow := Pace{WriteBytes: max(100, int(part*p.bps/8*every.Seconds())), Every: every}
	reads := Pace{WriteBytes: 64 << 10, ReadBps: int64(part * p.bps)}
	request := int(d.between(100, 1400))
	radio := wireless(65, 200, p.rtt, fmt.Sprintf(", frame_errors: %.0f %%", d.between(1, 10)))
	long := p
	long.rtt = 100 * time.Millisecond
	long.bps = 20e6
	loss := fmt.Sprintf(", down: {loss: %.2f %%}", d.between(0.5, 3))
	return []Situation{
		{
			Name: "download-application", Limits: []string{"application"}, Receiver: elsewhere, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Down: true, Pace: slow},
		},
		{
			Name: "download-receive-buffer", Limits: []string{"receive window"}, Receiver: []string{"receive window"},
			Cell: p.cell(1, ""), Plan: Plan{For: length, Down: true, Pace: bulk, ReceiveBuffer: buffer},
		},
		{
			Name: "download-send-buffer", Limits: []string{"send buffer"}, Receiver: elsewhere,
			Cell: p.wide().cell(1, ""),
			Plan: Plan{For: length, Down: true, Pace: small, SendBuffer: p.wide().sendBuffer(part)},
		},
		{
			Name: "download-random-loss", Limits: []string{"random loss"}, Receiver: lossy, Cell: p.cell(2, loss),
			Plan: Plan{For: length, Down: true, Pace: bulk},
		},
		{
			Name: "download-pacing", Limits: []string{"pacing"}, Receiver: elsewhere, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Down: true, Pace: bulk, PacingBps: int64(part * p.bps)},
		},
		{
			Name: "no-scaling", Limits: []string{"receive window"}, Receiver: []string{"receive window"},
			Setup: "sysctl -qw net.ipv4.tcp_window_scaling=0", Cell: long.cell(1, ""),
			Plan: Plan{For: length, Pace: bulk},
		},
		{
			Name: "bbr-application", Limits: []string{"application"}, Receiver: elsewhere, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Pace: slow, Congestion: "bbr"},
		},
		{
			Name: "bbr-receive-buffer", Limits: []string{"receive window"}, Receiver: []string{"receive window"},
			Cell: p.cell(1, ""),
			Plan: Plan{For: length, Pace: bulk, ReceiveBuffer: buffer, Congestion: "bbr"},
		},
		{
			Name: "bbr-slow-reader", Limits: []string{"receiving application"},
			Receiver: []string{"receiving application"}, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Pace: reads, Congestion: "bbr"},
		},
		{
			Name: "wifi-application", Limits: []string{"application"}, Receiver: elsewhere, Cell: radio,
			Plan: Plan{For: length, Pace: slow},
		},
		{
			Name: "wifi-slow-reader", Limits: []string{"receiving application"},
			Receiver: []string{"receiving application"}, Cell: radio, Plan: Plan{For: length, Pace: reads},
		},
		{
			Name: "wifi-receive-buffer", Limits: []string{"receive window"}, Receiver: []string{"receive window"},
			Cell: radio, Plan: Plan{For: length, Pace: bulk, ReceiveBuffer: buffer},
		},
		{
			Name: "wifi-request-answer", Limits: []string{"round trips"}, Receiver: []string{"round trips"},
			Cell: radio,
			Plan: Plan{For: length, Requests: []int{request}, Answer: request},
		},
		{
			Name: "large-answers", Limits: []string{"round trips"}, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Requests: []int{request}, Answer: 8000},
		},
		{
			Name: "ack-backlog", Limits: []string{"ACK backlog|shared capacity|network queue|capacity"},
			Receiver: elsewhere,
			Cell:     wire("rate: 20 Mbit/s, rtt: 40 ms, queue: 100 kB, down: {rate: 200 kbit/s, queue: 60 packets}"),
			Plan:     Plan{For: length, Pace: bulk},
		},
		{
			Name: "short-transfers", Limits: []string{"slow start|round trips"}, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Connections: 10, Size: int(d.between(30e3, 90e3))},
		},
	}
}
