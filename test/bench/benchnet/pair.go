// Package benchnet is two network namespaces joined by a veth pair, and iperf3 between them, for
// benchmarks.
package benchnet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"airtide/test/bench/benchtext"
)

// Pair is two network namespaces, with an iperf3 server in the second.
type Pair struct {
	Client, Server string // the namespaces
	iperf          *exec.Cmd
}

// Load is the traffic from the client to the server.
type Load struct {
	Streams    int
	Mbps       int    // rate of each stream; 0 means no limit
	Congestion string // control of the client
}

// New makes a pair.
func New(ctx context.Context) (*Pair, error) {
	p := &Pair{Client: fmt.Sprintf("atbench%d-c", os.Getpid()), Server: fmt.Sprintf("atbench%d-s", os.Getpid())}
	for _, args := range []string{
		"netns add " + p.Client, "netns add " + p.Server,
		"link add c0 netns " + p.Client + " type veth peer name s0 netns " + p.Server,
		"-n " + p.Client + " addr add 192.0.2.1/24 dev c0", "-n " + p.Server + " addr add 192.0.2.2/24 dev s0",
		"-n " + p.Client + " link set c0 up", "-n " + p.Server + " link set s0 up",
	} {
		if out, err := exec.CommandContext(ctx, "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			p.Remove()
			return nil, fmt.Errorf("ip %s: %w: %s", args, err, bytes.TrimSpace(out))
		}
	}
	p.iperf = exec.CommandContext(ctx, "ip", "netns", "exec", p.Server, "iperf3", "-s")
	if err := p.iperf.Start(); err != nil {
		p.Remove()
		return nil, fmt.Errorf("starting iperf3: %w", err)
	}
	time.Sleep(500 * time.Millisecond)
	return p, nil
}

// Remove ends the server and removes the namespaces.
func (p *Pair) Remove() {
	if p.iperf != nil {
		_ = p.iperf.Process.Kill()
		_ = p.iperf.Wait()
	}
	for _, ns := range []string{p.Client, p.Server} {
		_ = exec.Command("ip", "netns", "del", ns).Run()
	}
}

// Offloads turns segmentation and receive offloads of both ends on or off.
func (p *Pair) Offloads(ctx context.Context, on bool) error {
	word := "off"
	if on {
		word = "on"
	}
	for ns, dev := range map[string]string{p.Client: "c0", p.Server: "s0"} {
		cmd := exec.CommandContext(ctx, "ip", "netns", "exec", ns, "ethtool", "-K", dev, "tso", word, "gso", word,
			"gro", word)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("switching offloads %s: %w: %s", word, err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// Transfer runs iperf3 and returns the rate that the receiver saw, in bit/s.
func (p *Pair) Transfer(ctx context.Context, l Load, seconds int) (float64, error) {
	cmd := exec.CommandContext(ctx, "ip", "netns", "exec", p.Client, "iperf3", "-c", "192.0.2.2", "-J", "-C",
		l.Congestion,
		"-P", strconv.Itoa(l.Streams), "-t", strconv.Itoa(seconds), "-b", fmt.Sprintf("%dM", l.Mbps))
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("iperf3: %w: %s", err, benchtext.LastLine(string(out)))
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

// Segments is the number of TCP segments that both ends have received.
func (p *Pair) Segments() (uint64, error) { return p.sum("Tcp:", "InSegs") }

// Processed is the number of those that TCP has looked at, one by one. Segments that come while a
// program holds its socket wait in the backlog. There the kernel merges them with those that wait
// already (tcp_add_backlog, Linux 4.20).
func (p *Pair) Processed() (uint64, error) {
	all, err := p.Segments()
	if err != nil {
		return 0, err
	}
	merged, err := p.sum("TcpExt:", "TCPBacklogCoalesce")
	return all - merged, err
}

// sum adds the counts of both ends.
func (p *Pair) sum(group, name string) (uint64, error) {
	var sum uint64
	for _, ns := range []string{p.Client, p.Server} {
		out, err := exec.Command("ip", "netns", "exec", ns, "cat", "/proc/net/snmp", "/proc/net/netstat").Output()
		if err != nil {
			return 0, fmt.Errorf("reading the counters of %s: %w", ns, err)
		}
		n, err := counter(string(out), group, name)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// counter finds a counter in /proc/net/snmp or netstat. Their lines come in pairs of names and
// values.
func counter(text, group, name string) (uint64, error) {
	var names []string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != group {
			continue
		}
		if names == nil {
			names = words
			continue
		}
		if i := slices.Index(names, name); i > 0 && i < len(words) {
			return strconv.ParseUint(words[i], 10, 64)
		}
	}
	return 0, fmt.Errorf("the kernel has no counter %s %s", group, name)
}
