package main

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"airtide/internal/cell"
	"airtide/internal/lab/machine"
)

// ends are two machines that can reach each other, and how to undo them.
type ends struct {
	clients []string // namespaces
	server  string
	address netip.Addr // the server's address
	cell    *cell.Cell // nil without one
	undo    func()
}

// figures are the results of one run.
type figures struct {
	mbps float64
	// cpuNs is the busy time of all processors per packet's worth of data. engineNs is the part of
	// the engine's thread.
	cpuNs, engineNs float64
	lagMs           float64 // 99th percentile
	late            bool    // more than a lab lets a run be, by default
	stolen          float64 // processors' time that the host gave to others, per cent
}

// payloadBytes of a full TCP segment with timestamps.
const payloadBytes, packetBytes = 1448, 1500

// transfer sends by iperf3's TCP from all clients at once.
func (b *bench) transfer(ctx context.Context, e *ends, args ...string) (figures, error) {
	var f figures
	var servers []*exec.Cmd
	defer func() {
		for _, s := range servers {
			_ = s.Process.Kill()
			_ = s.Wait()
		}
	}()
	for i := range e.clients {
		s := exec.CommandContext(ctx, "ip", "netns", "exec", e.server, "iperf3", "-s", "-1", "-p", strconv.Itoa(6000+i))
		if err := s.Start(); err != nil {
			return f, err
		}
		servers = append(servers, s)
	}
	if err := b.listening(ctx, e); err != nil {
		return f, err
	}
	if e.cell != nil {
		if err := e.cell.Begin(); err != nil {
			return f, err
		}
	}
	errs := make(chan error, len(e.clients))
	for i, client := range e.clients {
		go func() { errs <- b.iperf(ctx, client, e.address, 6000+i, args) }()
	}
	// The start of the connections does not count.
	time.Sleep(time.Second)
	before, err := look(ctx, e.server)
	if err != nil {
		return f, err
	}
	time.Sleep(time.Duration(b.seconds-1) * time.Second)
	after, err := look(ctx, e.server)
	if err != nil {
		return f, err
	}
	var status *cell.Status
	if e.cell != nil {
		status, err = e.cell.Status()
		if err != nil {
			return f, err
		}
	}
	for range e.clients {
		if err := <-errs; err != nil {
			return f, err
		}
	}
	took := after.at.Sub(before.at).Seconds()
	n := max(after.received-before.received, after.sent-before.sent) / packetBytes
	f.mbps = n * payloadBytes * 8 / took / 1e6
	f.cpuNs = float64(after.processors.Busy-before.processors.Busy) / n
	f.stolen = after.processors.StolenPercent(before.processors)
	if status != nil {
		// The engine's time is from its beginning on.
		f.engineNs = float64(status.Engine.CPUNs) / n * took / (float64(status.TimeNs) / 1e9)
		f.lagMs = float64(status.Engine.Lag.P99Ns) / 1e6
		f.late = status.Engine.LagExceeded
	}
	return f, nil
}

func (b *bench) iperf(ctx context.Context, client string, to netip.Addr, port int, args []string) error {
	c := exec.CommandContext(ctx, "ip", append([]string{
		"netns", "exec", client, "iperf3", "-c", to.String(), "-p", strconv.Itoa(port), "-t",
		strconv.Itoa(b.seconds), "-C", "cubic",
	}, args...)...)
	if out, err := c.Output(); err != nil {
		return fmt.Errorf("iperf3: %w: %s", err, out)
	}
	return nil
}

// listening waits until all servers listen.
func (b *bench) listening(ctx context.Context, e *ends) error {
	for {
		out, err := exec.CommandContext(ctx, "ip", "netns", "exec", e.server, "ss", "-Hltn").Output()
		if err != nil {
			return fmt.Errorf("waiting for iperf3: %w", err)
		}
		if strings.Count(string(out), "\n") >= len(e.clients) {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// sight holds a machine's counters at a time.
type sight struct {
	at         time.Time
	processors machine.ProcessorTime
	// Bytes of IP packets of a namespace.
	received, sent float64
}

func look(ctx context.Context, namespace string) (s sight, err error) {
	s.at = time.Now()
	s.processors, err = machine.ReadProcessorTime()
	if err != nil {
		return s, err
	}
	out, err := exec.CommandContext(ctx, "ip", "netns", "exec", namespace, "nstat", "-asz", "IpExtInOctets",
		"IpExtOutOctets").Output()
	if err != nil {
		return s, fmt.Errorf("counting bytes: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		into := map[string]*float64{"IpExtInOctets": &s.received, "IpExtOutOctets": &s.sent}[fields[0]]
		if into == nil {
			continue
		}
		*into, err = strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return s, fmt.Errorf("counting bytes: %w", err)
		}
	}
	return s, nil
}
