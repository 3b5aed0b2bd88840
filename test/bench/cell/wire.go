package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/path"
	"airtide/internal/cell/queue"
	"airtide/test/bench/benchtext"
)

// way is one of those that are measured in turn.
type way struct {
	name string
	make func(context.Context) (*ends, error)
	args []string
}

// How the engine takes packets: one by one, or the kernel's super-packets at the ends.
var per, both = cell.EngineOptions{}, cell.EngineOptions{Coalesce: true, Supers: true}

// wire compares a wire without a cell with a token bucket on a veth pair.
func (b *bench) wire(ctx context.Context) error {
	return errors.Join(
		b.table(ctx, "A wire of 1 Gbit/s without a cell, TCP", []way{
			{"tbf on a veth pair, without offloads", onVeth(bucket("1gbit")), nil},
			{"airtide, packet by packet", onWire(1e9, 0, per), nil},
			{"airtide, super-packets at the ends", onWire(1e9, 0, both), nil},
		}),
		b.table(ctx, "A wire without limit, TCP", []way{
			{"veth pair, without offloads", onVeth(""), nil},
			{"airtide, packet by packet", onWire(0, 0, per), nil},
			{"airtide, super-packets at the ends", onWire(0, 0, both), nil},
		}),
	)
}

func onWire(bps int64, delay time.Duration, o cell.EngineOptions) func(context.Context) (*ends, error) {
	return func(ctx context.Context) (*ends, error) {
		wire := []cell.WireStep{{Wire: path.Wire{RateBps: bps, Limit: queue.Limit{Packets: 1000}}}}
		line := []cell.LineStep{{Line: path.Line{DelayNs: delay.Nanoseconds()}}}
		return cellEnds(ctx, cell.Config{
			Seed: 1, Terminals: []cell.Terminal{{Name: "a", Up: line, Down: line}},
			Servers: []cell.Server{{Name: "b"}}, WireUp: wire, WireDown: wire, Engine: o,
		})
	}
}

// onVeth is a veth pair with a queueing discipline at both ends, as tc words it, or none.
func onVeth(discipline string) func(context.Context) (*ends, error) {
	return func(ctx context.Context) (*ends, error) { return veth(ctx, discipline) }
}

func bucket(rate string) string { return "tbf rate " + rate + " burst 32kb limit 1500kb" }

func cellEnds(ctx context.Context, c cell.Config) (*ends, error) {
	running, err := cell.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	e := &ends{cell: running, undo: func() { _ = running.Stop() }}
	for _, h := range running.Hosts() {
		if h.Terminal {
			e.clients = append(e.clients, h.Namespace)
		} else {
			e.server = h.Namespace
			e.address = h.Address
		}
	}
	return e, nil
}

// veth is two namespaces joined by a veth pair, with a queueing discipline at both ends.
func veth(ctx context.Context, discipline string) (*ends, error) {
	tag := fmt.Sprintf("atbench%d", os.Getpid())
	a := tag + "a"
	z := tag + "z"
	undo := func() {
		_ = exec.Command("ip", "netns", "del", a).Run()
		_ = exec.Command("ip", "netns", "del", z).Run()
	}
	lines := fmt.Sprintf(`netns add %[1]s
netns add %[2]s
link add v0 netns %[1]s type veth peer name v0 netns %[2]s
-n %[1]s addr add 192.0.2.1/24 dev v0
-n %[2]s addr add 192.0.2.2/24 dev v0
-n %[1]s link set v0 up
-n %[2]s link set v0 up
netns exec %[1]s ethtool -K v0 tso off gso off gro off
netns exec %[2]s ethtool -K v0 tso off gso off gro off`, a, z)
	if discipline != "" {
		for _, namespace := range []string{a, z} {
			lines += fmt.Sprintf("\nnetns exec %s tc qdisc add dev v0 root %s", namespace, discipline)
		}
	}
	for line := range strings.Lines(lines) {
		if out, err := exec.CommandContext(ctx, "ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			undo()
			return nil, fmt.Errorf("ip %s: %w: %s", strings.TrimSpace(line), err, out)
		}
	}
	return &ends{clients: []string{a}, server: z, address: netip.MustParseAddr("192.0.2.2"), undo: undo}, nil
}

// table measures the ways in turn, another one beginning each round, and prints medians with the
// extremes behind them.
func (b *bench) table(ctx context.Context, title string, ways []way) error {
	got := make([][]figures, len(ways))
	for round := range b.rounds {
		for k := range ways {
			i := (round + k) % len(ways)
			e, err := ways[i].make(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", ways[i].name, err)
			}
			f, err := b.transfer(ctx, e, ways[i].args...)
			e.undo()
			if err != nil {
				return fmt.Errorf("%s: %w", ways[i].name, err)
			}
			got[i] = append(got[i], f)
		}
	}
	fmt.Printf("\n### %s\n\n| way | Mbit/s | to the first, by round | all processors, ns per 1448 bytes | engine, "+
		"ns per 1448 bytes | lag p99, ms | stolen by the host, %% |\n|---|---|---|---|---|---|---|\n", title)
	for i, w := range ways {
		of := func(format string, value func(f figures) float64) string {
			return benchtext.SpreadOf(got[i], value).Text(format)
		}
		ratios := make([]figures, len(got[i]))
		for k := range ratios {
			ratios[k].mbps = got[i][k].mbps / got[0][k].mbps
		}
		engineNs := "-"
		lag := "-"
		if slices.ContainsFunc(got[i], func(f figures) bool { return f.engineNs > 0 }) {
			engineNs = of("%.0f", func(f figures) float64 { return f.engineNs })
			lag = of("%.2f",
				func(f figures) float64 { return f.lagMs }) + late(got[i])
		}
		fmt.Printf("| %s | %s | %s | %s | %s | %s | %s |\n", w.name, of("%.0f",
			func(f figures) float64 { return f.mbps }),
			benchtext.SpreadOf(ratios, func(f figures) float64 { return f.mbps }).Text("%.2f"),
			of("%.0f", func(f figures) float64 { return f.cpuNs }), engineNs, lag, of("%.1f",
				func(f figures) float64 { return f.stolen }))
	}
	return nil
}

// late says how many of some runs were later than a lab's may be by default, which would not count
// there.
func late(runs []figures) string {
	n := 0
	for _, f := range runs {
		if f.late {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", late in %d of %d", n, len(runs))
}
