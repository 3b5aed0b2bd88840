// Command monitor measures the cost of observing TCP per ACK, side by side in one run: nothing,
// airtide record with and without its parts on demand, bpftrace, perf record and ss, interleaved
// and repeated, on real iperf3 traffic over a veth pair between two namespaces. It prints Markdown
// tables for docs/results/performance.md. It needs root, and iperf3, bpftrace, perf and ss.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"airtide/test/bench/benchnet"
	"airtide/test/bench/benchtext"
)

// settings are the flags.
type settings struct {
	airtide string
	beside  string // another binary of airtide
	args    string // more arguments for airtide record
	only    string
	rounds  int
	seconds int
	streams int
	sustain int
	busy    int
	dir     string
}

func main() {
	var s settings
	flag.StringVar(&s.airtide, "airtide", "./airtide", "the binary to measure")
	flag.StringVar(&s.beside, "beside", "", "another binary of airtide, to measure its record side by side")
	flag.StringVar(&s.args, "args", "", "more arguments for airtide record, separated by blanks")
	flag.StringVar(&s.only, "only", "", "only tools whose name contains this, and nothing")
	flag.IntVar(&s.rounds, "rounds", 5, "rounds of all tools in turn; 0: only the sustained runs")
	flag.IntVar(&s.seconds, "seconds", 4, "seconds of traffic per run")
	flag.IntVar(&s.streams, "streams", 16, "flows in the runs with offloads off")
	flag.IntVar(&s.sustain, "sustain", 10, "seconds of the run at the highest ACK rate")
	flag.IntVar(&s.busy, "busy", 6, "such runs beside a busy program on each processor")
	flag.Parse()
	benchtext.Run("bench", func(ctx context.Context) error { return run(ctx, s) })
}

func run(ctx context.Context, s settings) error {
	if os.Geteuid() != 0 {
		return errors.New("needs root, for namespaces and BPF")
	}
	for _, tool := range []string{"iperf3", "bpftrace", "perf", "ss", "ethtool"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: run make setup", err)
		}
	}
	defer benchtext.KeepAwake()()
	unmount, err := mountTracefs()
	if err != nil {
		return err
	}
	defer unmount()
	dir, err := os.MkdirTemp("", "airtide-bench-")
	if err != nil {
		return fmt.Errorf("making a folder for the outputs: %w", err)
	}
	defer os.RemoveAll(dir)
	s.dir = dir
	net, err := benchnet.New(ctx)
	if err != nil {
		return err
	}
	defer net.Remove()
	fmt.Println(benchtext.Machine())

	for _, load := range []load{
		{
			"offloads on, 2 flows of 6 Gbit/s (what a 10 Gbit/s adapter carries, and the processors have time left)",
			true, traffic(2, 6000),
		},
		{"offloads on, 2 flows, unlimited (no processor has time left: all that is observed is taken from the " +
			"transfer)", true, traffic(2, 0)},
		{
			fmt.Sprintf("offloads off, %d flows (as many ACKs as this machine makes)", s.streams), false,
			traffic(s.streams, 0),
		},
	} {
		if err := compare(ctx, s, net, load); err != nil {
			return err
		}
	}
	return sustain(ctx, s, net)
}

// load is a kind of traffic.
type load struct {
	name     string
	offloads bool
	benchnet.Load
}

func traffic(streams, mbps int) benchnet.Load {
	return benchnet.Load{Streams: streams, Mbps: mbps, Congestion: "cubic"}
}

// compare runs every tool in turn, rounds times.
func compare(ctx context.Context, s settings, net *benchnet.Pair, l load) error {
	if s.rounds == 0 {
		return nil
	}
	if err := net.Offloads(ctx, l.offloads); err != nil {
		return err
	}
	tools := tools(s)
	results := make([][]result, len(tools))
	for round := range s.rounds {
		for i := range tools {
			// Another tool begins each round, so that none is always the one on the warm or on the
			// cold machine.
			t := (i + round) % len(tools)
			progress("%s: round %d of %d, %s", l.name, round+1, s.rounds, tools[t].name)
			r, err := measure(ctx, net, tools[t], l, s.seconds)
			if err != nil {
				return fmt.Errorf("%s: %w", tools[t].name, err)
			}
			results[t] = append(results[t], r)
		}
	}
	progress("")
	printComparison(os.Stdout, l, tools, results)
	return nil
}

// sustain runs airtide alone at the highest ACK rate for longer, with and without the kernel's BPF
// statistics.
func sustain(ctx context.Context, s settings, net *benchnet.Pair) error {
	if err := net.Offloads(ctx, false); err != nil {
		return err
	}
	progress("sustained: %d flows for %d s", s.streams, s.sustain)
	if s.sustain == 0 {
		return nil
	}
	r, err := measure(ctx, net, airtideTool(s), load{Load: traffic(s.streams, 0)}, s.sustain)
	if err != nil {
		return err
	}
	progress("")
	fmt.Printf("\n### Sustained at the highest ACK rate, %d flows, offloads off, %d s\n\n", s.streams, s.sustain)
	fmt.Println(sustained(r))
	return crowd(ctx, s, net)
}

// crowd repeats the sustained run beside a busy program of normal priority on each processor. A
// recorder that gives way loses records in some of several runs.
func crowd(ctx context.Context, s settings, net *benchnet.Pair) error {
	for i := range runtime.NumCPU() {
		busy := exec.Command("taskset", "-c", strconv.Itoa(i), "sh", "-c", "while :; do :; done")
		busy.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
		if err := busy.Start(); err != nil {
			return err
		}
		defer func() {
			_ = busy.Process.Kill()
			_ = busy.Wait()
		}()
	}
	fmt.Printf("\n### The same beside a busy program on each processor, %d runs\n\n", s.busy)
	for i := range s.busy {
		progress("beside busy programs: run %d of %d", i+1, s.busy)
		r, err := measure(ctx, net, airtideTool(s), load{Load: traffic(s.streams, 0)}, s.sustain)
		if err != nil {
			return err
		}
		progress("")
		fmt.Println("- " + sustained(r))
	}
	return nil
}

func sustained(r result) string {
	return fmt.Sprintf("%.0f segments seen/s, %d records lost, %.1f in a million never made, %.4f samples per "+
		"segment, %.1f bytes on disk per sample, %.0f ns kernel (%.0f of it measuring) and %.0f ns user CPU per "+
		"segment.",
		float64(r.segments)/r.seconds(), r.lost, r.missedPerMillion(), r.samplesPerSegment(), r.bytesPerRecord(),
		r.kernelNs(), r.bpfFloor, r.userNs())
}

func progress(format string, args ...any) {
	if st, err := os.Stderr.Stat(); err != nil || st.Mode()&os.ModeCharDevice == 0 {
		if format != "" {
			fmt.Fprintf(os.Stderr, format+"\n", args...)
		}
		return
	}
	fmt.Fprintf(os.Stderr, "\r\x1b[K"+format, args...)
}
