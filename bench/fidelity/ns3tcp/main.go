// Command ns3tcp writes the experiments that repeat the TCP rows of ns-3's reference figures (ns3.csv, whose columns
// cell/medium/testdata/README.md explains) with the kernel's TCP.
package main

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed ns3.csv
var reference string

const header = `# Made by go generate ./bench/fidelity. TCP of ns-3 3.44 over the same cells, with the kernel's TCP in its place.
name: %s
title: %s
source: an independent simulation with ns-3 3.44
notes: >
  Goodput of TCP through an access point with fixed PHY rates and no frame errors; the wire is 1 ms away and has 1000 packets
  of queue. ns-3's wire frames a packet of 1500 bytes as 1502, this one as 1538: hence its odd rates. ns-3 leaves
  VHT-SIG-B out of 802.11ac's preambles (4 us in some 1000) and its access point sends beacons.
duration: 10 s
warmup: 3 s
repeats: 2

terminals:
%s
servers:
  server: {profile: linux-today}

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

const terminal = "  %s: {profile: linux-today, count: 2, radio: {standard: ac, width: 80, streams: 2, phy_rate: 866.7 Mbit/s, queue: 500 packets}}\n"

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
	rows, err := csv.NewReader(strings.NewReader(reference)).ReadAll()
	if err != nil {
		fail(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	alike := &experiment{name: "ns3-tcp", title: "TCP over cells of equal terminals", groups: []string{"sta"}}
	mixed := &experiment{name: "ns3-tcp-mixed", title: "TCP over cells of fast and slow terminals", groups: []string{"fast", "slow"}}
	for _, line := range rows[1:] {
		r := row{func(name string) string { return line[column[name]] }}
		switch {
		case r.at("proto") == "udp", r.at("case") == "S-long60s", strings.Contains(r.at("options"), "preambleDet"):
			// Of these the medium's own tests, a time, and an option that an experiment does not have.
		case r.at("n") != "0" && r.at("n_slow") != "0":
			mixed.add(r)
		default:
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

type row struct{ at func(column string) string }

// name tells rows apart.
func (r row) name() string {
	parts := []string{r.at("phy"), whole(r.at("rate_mbps")), "n" + r.at("n")}
	if r.at("n_slow") != "0" {
		parts = append(parts, r.at("n_slow")+"x"+whole(r.at("slow_rate_mbps")))
	}
	if r.at("ampdu_max") == "0" {
		parts = append(parts, "noagg")
	}
	if r.at("wired_mbps") != "1000" {
		parts = append(parts, "wire"+r.at("wired_mbps"))
	}
	if strings.HasPrefix(r.at("case"), "S-") {
		parts = append(parts, strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(r.at("case"), "S-"), "-", "_")))
		if strings.HasPrefix(r.at("case"), "S-apfifo") {
			parts = append(parts, r.at("ap_fifo_pkts"))
		}
	}
	return strings.Join(append(parts, r.at("dir"), r.at("proto")), "_")
}

// whole is a number without what is behind the point.
func whole(number string) string {
	before, _, _ := strings.Cut(number, ".")
	return before
}

// smallBuffer is the send buffer of the rows with sndbuf.
const smallBuffer = "{min: 4096 B, default: 16384 B, max: 262144 B}"

type experiment struct {
	name, title    string
	groups         []string
	points, claims strings.Builder
}

func (e *experiment) set(path, value string) { fmt.Fprintf(&e.points, "        %s: %s\n", path, value) }

func (e *experiment) add(r row) {
	name := r.name()
	fmt.Fprintf(&e.points, "      %s:\n", name)
	for i, group := range e.groups {
		slow := i > 0 || r.at("n") == "0"
		at := "terminals." + group
		e.set(at+".count", r.at(map[bool]string{false: "n", true: "n_slow"}[slow]))
		e.radio(r, at+".radio", slow)
		e.set(at+".congestion", r.at("proto"))
		if strings.Contains(r.at("options"), "sndbuf") {
			e.set(at+".send_buffer", smallBuffer)
		}
	}
	e.set("servers.server.congestion", r.at("proto"))
	if strings.Contains(r.at("options"), "sndbuf") {
		e.set("servers.server.send_buffer", smallBuffer)
	}
	e.set("cell.ap.queue", r.at("ap_fifo_pkts")+" packets")
	if strings.Contains(r.at("options"), "bar=0") {
		e.set("cell.block_ack_request", "false")
	}
	if r.at("ampdu_max") != "0" && r.at("phy") != "g" {
		e.set("cell.ap.aggregation.bytes", r.at("ampdu_max")+" B")
	}
	if r.at("wired_mbps") == "100" {
		e.set("path.rate", "102.4 Mbit/s")
	}
	if strings.Contains(r.at("options"), "delay=10") {
		e.set("path.rtt", "20 ms")
	}
	switch r.at("dir") {
	case "down":
		e.set("flows.transfer.direction", "reverse")
	case "s2s":
		e.set("flows.transfer.from", "sta1")
		e.set("flows.transfer.to", "sta2")
	}
	fmt.Fprintf(&e.claims, "  %s:\n    says: \"goodput %s Mbit/s (%s to %s in %s runs), AP backlog %s packets, RTT %s ms\"\n    where: %s\n    holds: 'abs(mean(at(total, {row: %q})) - %s) <= 0.1 * %s'\n",
		name, r.at("goodput_mbps"), r.at("goodput_min"), r.at("goodput_max"), r.at("runs"), r.at("apq_mean"), r.at("tcp_rtt_mean_ms"),
		r.at("case"), name, r.at("goodput_mbps"), r.at("goodput_mbps"))
}

func (e *experiment) radio(r row, at string, slow bool) {
	standard, width, streams, rate := "ac", "80", r.at("nss"), r.at("rate_mbps")
	switch {
	case slow:
		standard, width, streams, rate = "n", "20", "1", r.at("slow_rate_mbps")
		if strings.Contains(r.at("options"), "slowWidth=40") {
			width = "40"
		}
	case r.at("phy") == "g":
		standard, width, streams = "g", "", ""
	case strings.HasPrefix(r.at("phy"), "n"):
		standard, width = "n", strings.TrimPrefix(r.at("phy"), "n")
	}
	radio := []string{"standard: " + standard}
	if width != "" {
		radio = append(radio, "width: "+width, "streams: "+streams)
	}
	radio = append(radio, "phy_rate: "+rate+" Mbit/s", "queue: 500 packets")
	switch {
	case standard == "g":
	case r.at("ampdu_max") == "0":
		radio = append(radio, "aggregation: {frames: 1}")
	default:
		radio = append(radio, "aggregation: {bytes: "+r.at("ampdu_max")+" B}")
	}
	e.set(at, "{"+strings.Join(radio, ", ")+"}")
}

func (e *experiment) text() string {
	var groups strings.Builder
	for _, g := range e.groups {
		fmt.Fprintf(&groups, terminal, g)
	}
	return fmt.Sprintf(header, e.name, e.title, groups.String()) + e.points.String() + footer + e.claims.String()
}
