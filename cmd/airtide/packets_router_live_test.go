//go:build kernel && tools

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	view "airtide/internal/view/capture"
	"airtide/test/need"
)

// accessPoint makes a router: it forwards between br-lan, whose port is the radio, and wan0, the
// access line. Their far ends are in the namespace air, in which the cells of radio and line run.
const accessPoint = `set -e
for n in $air $ap; do ip netns add $n; done
ip -n $ap link add br-lan type bridge
ip link add radio1 netns $air type veth peer name radio0 netns $ap
ip link add line1 netns $air type veth peer name wan0 netns $ap
ip -n $ap link set radio0 master br-lan
ip -n $ap address add 192.168.1.1/24 dev br-lan
ip -n $ap address add 192.168.2.1/24 dev wan0
for d in radio0 br-lan wan0; do ip -n $ap link set $d up; done
for d in radio1 line1; do ip -n $air link set $d up; done
ip -n $ap route add 10.1.0.0/24 via 192.168.1.2
ip -n $ap route add 10.2.0.0/24 via 192.168.2.2
ip netns exec $ap sysctl -q net.ipv4.ip_forward=1`

// radioCell is the air between the access point and a phone.
const radioCell = `
name: radio
terminals: {phone: {radio: {standard: n, phy_rate: 39 Mbit/s, queue: 200 packets}}}
servers:
  lan: {outside: {interface: radio1, addresses: 0.0.0.0/0, gateway: 192.168.1.2, via: 192.168.1.1}}
cell: {ap: {discipline: fifo, queue: 200 packets}}
path: {rate: 1 Gbit/s}
`

// lineCell is the access line and a server behind it.
const lineCell = `
name: line
terminals:
  router:
    link: ethernet
    outside: {interface: line1, addresses: 0.0.0.0/0, gateway: 192.168.2.2, via: 192.168.2.1}
servers: {server: {}}
path: {rtt: 5 ms, queue: 100 packets, up: {rate: 20 Mbit/s}, down: {rate: %s}}
`

// A capture on an access point, read through a pipe, tells the wait for the radio from that for the
// access line. The download waits for the radio, and the upload for the line. Through a slower line
// the download waits in front of it, before the capture.
func TestACaptureOnAnAccessPointSeparatesRadioAndLine(t *testing.T) {
	need.Root(t)
	iperf := need.Tool(t, "iperf3")
	tcpdump := need.Tool(t, "tcpdump")
	nsenter := need.Tool(t, "nsenter")
	ap := fmt.Sprintf("airtide-test-%d-ap", os.Getpid())
	air := fmt.Sprintf("airtide-test-%d-air", os.Getpid())
	t.Cleanup(func() {
		for _, n := range []string{ap, air} {
			_ = exec.Command("ip", "netns", "del", n).Run()
		}
	})
	set := exec.Command("sh", "-c", accessPoint)
	set.Env = append(os.Environ(), "ap="+ap, "air="+air)
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	in := func(netns string, command ...string) *exec.Cmd {
		return exec.Command("ip", append([]string{"netns", "exec", netns}, command...)...)
	}
	for _, c := range []struct {
		name    string
		options []string
		line    string // its rate towards the access point
		radio   bool   // waits for the radio
	}{
		{"download", []string{"-R"}, "100 Mbit/s", true},
		{"upload", nil, "100 Mbit/s", false},
		{"download through a slow line", []string{"-R"}, "10 Mbit/s", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			machines := map[string]string{}
			for _, file := range []string{radioCell, fmt.Sprintf(lineCell, c.line)} {
				run := airtide("cell", "run", cellFile(t, file), "--json")
				run.Args = append([]string{"nsenter", "--net=/run/netns/" + air, run.Path}, run.Args[1:]...)
				run.Path = nsenter
				for _, h := range awaitCell(t, run) {
					machines[h.Name] = h.Namespace
				}
				t.Cleanup(func() {
					_ = run.Process.Signal(os.Interrupt)
					_ = run.Wait()
				})
			}
			client := machines["phone"]
			server := machines["server"]
			listening := in(server, iperf, "-s", "-1")
			if err := listening.Start(); err != nil {
				t.Fatal(err)
			}
			killAfterFailure(t, listening)
			path := filepath.Join(t.TempDir(), "ap.pcap")
			capture := in(ap, tcpdump,
				"-i", "br-lan", "-s", "160", "-U", "--immediate-mode", "-Z", "root", "-w", "-", "tcp")
			pipe, err := capture.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var tables bytes.Buffer
			tee := exec.Command("tee", path)
			tee.Stdin = pipe
			live := airtide("packets", "--live=100ms", "-")
			live.Stdin, err = tee.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			live.Stdout = &tables
			for _, cmd := range []*exec.Cmd{capture, tee, live} {
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				killAfterFailure(t, cmd)
			}
			waitFor(t, "the capture to begin", func() bool {
				st, err := os.Stat(path)
				return err == nil && st.Size() > 0
			})
			args := append([]string{iperf, "-c", "10.2.0.1", "-C", "cubic", "-n", "8M"}, c.options...)
			waitFor(t, "the transfer", func() bool { return in(client, args...).Run() == nil })
			if err := capture.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			for _, cmd := range []*exec.Cmd{live, tee, capture} {
				if err := cmd.Wait(); err != nil {
					t.Errorf("%s: %v", cmd.Path, err)
				}
			}
			var all view.Analysis
			if err := json.Unmarshal([]byte(mustRun(t, "packets", path, "--json")), &all); err != nil {
				t.Fatal(err)
			}
			for _, one := range all.Connections {
				if one.Bytes() < 4<<20 {
					continue
				}
				if one.Near != "between" {
					t.Errorf("captured at %q", one.Near)
				}
				waits := one.ClientSideUs
				other := one.ServerSideUs
				if !c.radio {
					waits, other = other, waits
				}
				if waits < 8000 || other <= 0 || other > waits/4 {
					t.Errorf("%g us to the client, %g us to the server", one.ClientSideUs, one.ServerSideUs)
				}
			}
			shown := tables.String()
			if n := strings.Count(shown, "CLIENT MS"); n < 3 || !strings.Contains(shown, "10.2.0.1:5201") {
				t.Errorf("%d tables: %s", n, &tables)
			}
			if text := mustRun(t, "diagnose", path); !strings.Contains(text, "wait in a queue of the network") {
				t.Errorf("it does not show the queue: %s", text)
			}
		})
	}
}
