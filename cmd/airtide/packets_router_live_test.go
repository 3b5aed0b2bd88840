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

// accessPoint makes a client, an access point, a modem and a server in namespaces with these names.
// The access point forwards between br-lan, whose port is the radio, and wan0, the access line to
// the modem, which bridges it to the server.
const accessPoint = `set -e
for n in $client $ap $modem $server; do ip netns add $n; done
ip link add eth0 netns $client type veth peer name radio0 netns $ap
ip link add line netns $modem type veth peer name wan0 netns $ap
ip link add eth0 netns $server type veth peer name far netns $modem
ip -n $modem link add br0 type bridge
for d in line far; do ip -n $modem link set $d master br0; done
for d in line far br0; do ip -n $modem link set $d up; done
ip -n $ap link add br-lan type bridge
ip -n $ap link set radio0 master br-lan
ip -n $ap address add 10.1.0.254/24 dev br-lan
ip -n $ap address add 10.2.0.254/24 dev wan0
ip -n $client address add 10.1.0.1/24 dev eth0
ip -n $server address add 10.2.0.1/24 dev eth0
for d in radio0 br-lan wan0; do ip -n $ap link set $d up; done
for n in $client $server; do ip -n $n link set lo up; ip -n $n link set eth0 up; done
ip -n $client route add default via 10.1.0.254
ip -n $server route add default via 10.2.0.254
ip netns exec $ap sysctl -q net.ipv4.ip_forward=1
tc -n $ap qdisc add dev radio0 root tbf rate 20mbit burst 10kb limit 100kb
tc -n $ap qdisc add dev wan0 root tbf rate 20mbit burst 10kb limit 100kb`

// A capture on an access point, read through a pipe, tells the wait for the radio from that for the
// access line. The download waits for the radio, and the upload for the line. Through a slower line
// the download waits in the modem, before the capture.
func TestACaptureOnAnAccessPointSeparatesRadioAndLine(t *testing.T) {
	need.Root(t)
	iperf := need.Tool(t, "iperf3")
	tcpdump := need.Tool(t, "tcpdump")
	name := func(host string) string { return fmt.Sprintf("airtide-test-%d-%s", os.Getpid(), host) }
	ap := name("ap")
	client := name("client")
	server := name("server")
	modem := name("modem")
	t.Cleanup(func() {
		for _, n := range []string{ap, client, server, modem} {
			_ = exec.Command("ip", "netns", "del", n).Run()
		}
	})
	set := exec.Command("sh", "-c", accessPoint)
	set.Env = append(os.Environ(), "ap="+ap, "client="+client, "server="+server, "modem="+modem)
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	in := func(netns string, command ...string) *exec.Cmd {
		return exec.Command("ip", append([]string{"netns", "exec", netns}, command...)...)
	}
	for _, c := range []struct {
		name    string
		options []string
		line    []string // of tc, for the modem
		radio   bool     // waits for the radio
	}{
		{"download", []string{"-R"}, nil, true},
		{"upload", nil, nil, false},
		{
			"download through a slow line",
			[]string{"-R"},
			strings.Fields("tc qdisc add dev line root tbf rate 10mbit burst 10kb limit 100kb"),
			false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.line != nil {
				if out, err := in(modem, c.line...).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
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
