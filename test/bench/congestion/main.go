// Command congestion measures the cost of airtide's congestion controls beside the kernel's CUBIC:
// the processors' time for each ACK of real transfers, in turn.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"airtide/internal/kernel/congestion"
	"airtide/internal/kernel/congestion/kind"
	"airtide/internal/lab/machine"
	"airtide/test/bench/benchbpf"
	"airtide/test/bench/benchnet"
	"airtide/test/bench/benchtext"
)

type settings struct{ rounds, seconds, streams int }

func main() {
	var s settings
	flag.IntVar(&s.rounds, "rounds", 7, "rounds of all congestion controls in turn")
	flag.IntVar(&s.seconds, "seconds", 3, "seconds of traffic per run")
	flag.IntVar(&s.streams, "streams", 8, "flows")
	flag.Parse()
	benchtext.Run("bench", func(ctx context.Context) error { return run(ctx, s) })
}

// peer is the kernel's own.
const peer = "cubic"

// figures are those of one run.
type figures struct {
	mbps  float64
	cpuNs float64 // time of all processors per segment that the sender received
	ratio float64 // ratio to the peer's in the same round
	bpfNs float64 // time of the congestion control's own programs per ACK
}

func run(ctx context.Context, s settings) error {
	if os.Geteuid() != 0 {
		return errors.New("needs root, for namespaces and BPF")
	}
	defer benchtext.KeepAwake()()
	names, unload, err := load()
	if err != nil {
		return err
	}
	defer unload()
	net, err := benchnet.New(ctx)
	if err != nil {
		return err
	}
	defer net.Remove()
	if err := net.Offloads(ctx, false); err != nil {
		return err
	}
	fmt.Println(benchtext.Machine())
	got := map[string][]figures{}
	for round := range s.rounds {
		for i := range names {
			name := names[(i+round)%len(names)]
			fmt.Fprintf(os.Stderr, "round %d of %d, %s\n", round+1, s.rounds, name)
			f, err := measure(ctx, net, name, s)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			got[name] = append(got[name], f)
		}
	}
	print(names, got)
	return nil
}

// load loads every kind under a name of its own; the first name is the peer's.
func load() (names []string, unload func(), err error) {
	names = []string{peer}
	var loaded []*congestion.Loaded
	unload = func() {
		for _, l := range loaded {
			_ = l.Close()
		}
	}
	for i, k := range kind.All() {
		name := fmt.Sprintf("b%d_%d", i, os.Getpid())
		l, err := congestion.Load(k, congestion.Options{Name: name, Parameters: k.Defaults()})
		if err != nil {
			unload()
			return nil, nil, fmt.Errorf("loading %s: %w", k, err)
		}
		loaded = append(loaded, l)
		names = append(names, name)
	}
	return names, unload, nil
}

// measure runs the traffic twice: as it is, and for a second with the kernel's BPF statistics on,
// which cost something themselves.
func measure(ctx context.Context, net *benchnet.Pair, name string, s settings) (f figures, err error) {
	l := benchnet.Load{Streams: s.streams, Congestion: name}
	segments, err := net.Segments()
	if err != nil {
		return f, err
	}
	busy, err := machine.ReadProcessorTime()
	if err != nil {
		return f, err
	}
	rate, err := net.Transfer(ctx, l, s.seconds)
	if err != nil {
		return f, err
	}
	busyEnd, err := machine.ReadProcessorTime()
	if err != nil {
		return f, err
	}
	segmentsEnd, err := net.Segments()
	if err != nil {
		return f, err
	}
	f = figures{mbps: rate / 1e6, cpuNs: float64(busyEnd.Busy-busy.Busy) / float64(segmentsEnd-segments)}
	if name != peer {
		f.bpfNs, err = ownTime(ctx, net, l)
	}
	return f, err
}

// ownTime is the run time of the congestion control's programs for each call of cong_avoid, in ns.
func ownTime(ctx context.Context, net *benchnet.Pair, l benchnet.Load) (float64, error) {
	before, err := total()
	if err != nil {
		return 0, err
	}
	stats, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		return 0, fmt.Errorf("turning BPF statistics on: %w", err)
	}
	defer stats.Close()
	if _, err := net.Transfer(ctx, l, 1); err != nil {
		return 0, err
	}
	after, err := total()
	if err != nil {
		return 0, err
	}
	calls := after.calls - before.calls
	return float64(after.time-before.time) / float64(max(calls, 1)), nil
}

type counted struct {
	time  time.Duration
	calls uint64 // calls of cong_avoid
}

// total sums over all congestion controls; only one has traffic at a time.
func total() (c counted, err error) {
	all, err := benchbpf.Runs(nil)
	for _, one := range all {
		if strings.HasPrefix(one.Name, "cc_") {
			c.time += one.Time
		}
		if strings.HasPrefix(one.Name, "cc_cong_avoid") {
			c.calls += one.Runs
		}
	}
	return c, err
}

func print(names []string, got map[string][]figures) {
	fmt.Printf("\n| congestion control | Mbit/s | all processors, ns per segment | to cubic, by round | its own " +
		"programs, ns per ACK |\n|---|---|---|---|---|\n")
	for i, name := range names {
		for k := range got[name] {
			got[name][k].ratio = got[name][k].cpuNs / got[peer][k].cpuNs
		}
		of := func(format string, value func(figures) float64) string {
			return benchtext.SpreadOf(got[name], value).Text(format)
		}
		title := peer + " of the kernel"
		own := "-"
		if i > 0 {
			title = string(kind.All()[i-1])
			own = of("%.0f", func(f figures) float64 { return f.bpfNs })
		}
		fmt.Printf("| %s | %s | %s | %s | %s |\n", title, of("%.0f", func(f figures) float64 { return f.mbps }),
			of("%.0f", func(f figures) float64 { return f.cpuNs }), of("%.3f",
				func(f figures) float64 { return f.ratio }), own)
	}
}
