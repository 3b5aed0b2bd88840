// Command ns3tcp writes the experiments that repeat the TCP rows of ns-3's reference figures
// (package test/ns3) with the kernel's TCP.
package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"airtide/test/ns3"
)

const header = `# Made by go generate ./test/bench/fidelity. The same cells as in ns-3 3.44, with the kernel's TCP.
name: %s
title: %s
source: an independent simulation with ns-3 3.44
notes: >
  Goodput of TCP through an access point with fixed PHY rates and no frame errors; the wire is 1
  ms away and has 1000 packets of queue. ns-3's wire frames a packet of 1500 bytes as 1502, this
  one as 1538: hence its odd rates. ns-3 leaves VHT-SIG-B out of 802.11ac's preambles (4 us in
  some 1000) and its access point sends beacons. Its receivers acknowledge every second segment;
  Linux's do so from 6.7 on only where they do not put ACKs off while they work a backlog through.
duration: 10 s
warmup: 3 s
repeats: %d

terminals:
%s
servers:
  server: {profile: linux-today, sysctls: {-net.ipv4.tcp_backlog_ack_defer: 0}}

cell:
  block_ack_request: true
  ap: {discipline: fifo, queue: 500 packets}

path:
  rate: 1024 Mbit/s
  rtt: 2 ms

flows:
  transfer: {from: terminals, to: server, protocol: tcp}

record:
  tcp: all

sweep:
  - name: row
    points:
`

const terminal = "  %s: {profile: linux-today, sysctls: {-net.ipv4.tcp_backlog_ack_defer: 0}, count: 2, radio: " +
	"{standard: ac, width: 80, streams: 2, phy_rate: 866.7 Mbit/s, queue: 500 packets}}\n"

const footer = `
measure:
  goodput: {quantity: goodput, take: each}
  total: {quantity: goodput, take: sum}
  ap_queue: {quantity: ap_queue, take: sum}
  srtt: {quantity: srtt}
  collisions: {quantity: collisions}
  aggregation: {quantity: aggregation}

claims:
`

func main() {
	dir := os.Args[1]
	alike := &experiment{
		name: "ns3-tcp", title: "TCP over cells of equal terminals", groups: []string{"sta"},
		repeats: 2,
	}
	mixed := &experiment{
		name: "ns3-tcp-mixed", title: "TCP over cells of fast and slow terminals",
		groups: []string{"fast", "slow"}, repeats: 6,
	} // they differ more from run to run
	for _, line := range ns3.Rows("cubic", "reno") {
		r := row{line}
		if r.N > 0 && r.Slow > 0 {
			mixed.add(r)
		} else {
			alike.add(r)
		}
	}
	for _, e := range []*experiment{alike, mixed} {
		if err := os.WriteFile(filepath.Join(dir, e.name+".yaml"), []byte(e.text()), 0o644); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "ns3tcp:", err)
	os.Exit(1)
}

type row struct{ ns3.Row }

// smallBuffer is the send buffer of the rows with sndbuf.
const smallBuffer = "{min: 4096 B, default: 16384 B, max: 262144 B}"

type experiment struct {
	name, title    string
	repeats        int
	groups         []string
	points, claims strings.Builder
}

func (e *experiment) set(path, value string) { fmt.Fprintf(&e.points, "        %s: %s\n", path, value) }

func (e *experiment) add(r row) {
	name := r.Name()
	fmt.Fprintf(&e.points, "      %s:\n", name)
	for i, group := range e.groups {
		slow := i > 0 || r.N == 0
		count := r.N
		if slow {
			count = r.Slow
		}
		at := "terminals." + group
		e.set(at+".count", fmt.Sprint(count))
		e.radio(r, at+".radio", slow)
		e.set(at+".congestion", r.Protocol)
		if r.Has("sndbuf=262144") {
			e.set(at+".send_buffer", smallBuffer)
		}
	}
	e.set("servers.server.congestion", r.Protocol)
	if r.Has("sndbuf=262144") {
		e.set("servers.server.send_buffer", smallBuffer)
	}
	e.set("cell.ap.queue", fmt.Sprint(r.APLimit, " packets"))
	if r.Has("bar=0") {
		e.set("cell.block_ack_request", "false")
	}
	if r.Has("preambleDet=0") {
		e.set("cell.eifs_after_collision", "true")
	}
	if r.Case == "S-long60s" {
		e.set("duration", "60 s")
	}
	switch {
	case r.PHY == "g":
	case r.AMPDU == 0:
		e.set("cell.ap.aggregation.frames", "1")
	default:
		e.set("cell.ap.aggregation.bytes", fmt.Sprint(r.AMPDU, " B"))
	}
	if r.WireMbps == 100 {
		e.set("path.rate", "102.4 Mbit/s")
	}
	if r.Has("delay=10") {
		e.set("path.rtt", "20 ms")
	}
	switch r.Direction {
	case "down":
		e.set("flows.transfer.direction", "reverse")
	case "s2s":
		e.set("flows.transfer.from", "sta1")
		e.set("flows.transfer.to", "sta2")
	}
	fmt.Fprintf(&e.claims, "  %s:\n    says: \"goodput %.2f Mbit/s (%.2f to %.2f in %d runs), AP backlog %.2f "+
		"packets, RTT %.2f ms\"\n    where: %s\n    holds: 'abs(mean(at(total, {row: %q})) - %.2f) <= 0.1 * %.2f'\n",
		name, r.Goodput, r.Range[0], r.Range[1], r.Runs, r.Backlog, r.RTTMs, r.Case, name, r.Goodput, r.Goodput)
}

func (e *experiment) radio(r row, at string, slow bool) {
	standard := "ac"
	width := 80
	streams := r.Streams
	rate := r.RateMbps
	switch {
	case slow:
		standard = "n"
		width = r.SlowWidth()
		streams = 1
		rate = r.SlowMbps
	case r.PHY == "g":
		standard = "g"
	case r.PHY == "n20":
		standard = "n"
		width = 20
	case r.PHY == "n40":
		standard = "n"
		width = 40
	}
	radio := []string{"standard: " + standard}
	if standard != "g" {
		radio = append(radio, fmt.Sprintf("width: %d, streams: %d", width, streams))
	}
	radio = append(radio, fmt.Sprintf("phy_rate: %g Mbit/s", rate), "queue: 500 packets")
	switch {
	case standard == "g":
	case r.AMPDU == 0:
		radio = append(radio, "aggregation: {frames: 1}")
	default:
		radio = append(radio, fmt.Sprintf("aggregation: {bytes: %d B}", r.AMPDU))
	}
	e.set(at, "{"+strings.Join(radio, ", ")+"}")
}

func (e *experiment) text() string {
	var groups strings.Builder
	for _, g := range e.groups {
		fmt.Fprintf(&groups, terminal, g)
	}
	return fmt.Sprintf(header, e.name, e.title, e.repeats,
		groups.String()) + e.points.String() + footer + e.claims.String()
}
