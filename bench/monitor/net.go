package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// pair is two network namespaces joined by a veth pair, with an iperf3 server in the second.
type pair struct {
	client, server string
	iperf          *exec.Cmd
}

func newPair(ctx context.Context) (*pair, error) {
	p := &pair{client: fmt.Sprintf("atbench%d-c", os.Getpid()), server: fmt.Sprintf("atbench%d-s", os.Getpid())}
	for _, args := range []string{
		"netns add " + p.client, "netns add " + p.server,
		"link add c0 netns " + p.client + " type veth peer name s0 netns " + p.server,
		"-n " + p.client + " addr add 192.0.2.1/24 dev c0", "-n " + p.server + " addr add 192.0.2.2/24 dev s0",
		"-n " + p.client + " link set c0 up", "-n " + p.server + " link set s0 up",
	} {
		if out, err := exec.CommandContext(ctx, "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			p.remove()
			return nil, fmt.Errorf("ip %s: %w: %s", args, err, bytes.TrimSpace(out))
		}
	}
	p.iperf = exec.CommandContext(ctx, "ip", "netns", "exec", p.server, "iperf3", "-s")
	if err := p.iperf.Start(); err != nil {
		p.remove()
		return nil, fmt.Errorf("starting iperf3: %w", err)
	}
	time.Sleep(500 * time.Millisecond)
	return p, nil
}

func (p *pair) remove() {
	if p.iperf != nil {
		_ = p.iperf.Process.Kill()
		_ = p.iperf.Wait()
	}
	for _, ns := range []string{p.client, p.server} {
		_ = exec.Command("ip", "netns", "del", ns).Run()
	}
}

// offloads turns segmentation and receive offloads of both ends on or off.
func (p *pair) offloads(ctx context.Context, on bool) error {
	word := "off"
	if on {
		word = "on"
	}
	for ns, dev := range map[string]string{p.client: "c0", p.server: "s0"} {
		cmd := exec.CommandContext(ctx, "ip", "netns", "exec", ns, "ethtool", "-K", dev, "tso", word, "gso", word, "gro", word)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("switching offloads %s: %w: %s", word, err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// transfer runs iperf3 and returns the rate that the receiver saw, in bit/s.
func (p *pair) transfer(ctx context.Context, l load, seconds int) (float64, error) {
	cmd := exec.CommandContext(ctx, "ip", "netns", "exec", p.client, "iperf3", "-c", "192.0.2.2", "-J", "-C", "cubic",
		"-P", strconv.Itoa(l.streams), "-t", strconv.Itoa(seconds), "-b", fmt.Sprintf("%dM", l.mbps))
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("iperf3: %w: %s", err, lastLine(out))
	}
	var r struct {
		End struct {
			SumReceived struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return 0, fmt.Errorf("reading iperf3's output: %w", err)
	}
	return r.End.SumReceived.Rate, nil
}

// segments is the number of TCP segments that both ends have received.
func (p *pair) segments() (uint64, error) {
	var sum uint64
	for _, ns := range []string{p.client, p.server} {
		out, err := exec.Command("ip", "netns", "exec", ns, "cat", "/proc/net/snmp").Output()
		if err != nil {
			return 0, fmt.Errorf("reading the segment count of %s: %w", ns, err)
		}
		n, err := inSegs(string(out))
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// inSegs finds Tcp InSegs in /proc/net/snmp, whose lines come in pairs of names and values.
func inSegs(snmp string) (uint64, error) {
	var names []string
	for line := range strings.Lines(snmp) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "Tcp:" {
			continue
		}
		if names == nil {
			names = words
			continue
		}
		for i, name := range names {
			if name == "InSegs" {
				return strconv.ParseUint(words[i], 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("/proc/net/snmp has no Tcp InSegs")
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}
