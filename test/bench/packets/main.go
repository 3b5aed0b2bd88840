// Command packets measures airtide packets beside tshark and tcptrace on one capture, in turns, and
// writes the table of docs/results/performance.md. The counts of airtide and tshark must be equal.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"airtide/internal/units"
	"airtide/test/bench/benchtext"
)

func main() {
	var b benchmark
	flag.StringVar(&b.airtide, "airtide", "./airtide", "the binary to measure")
	flag.StringVar(&b.capture, "capture", "", "a pcap without compression; none: one of -size is made")
	flag.Int64Var(&b.size, "size", 1_000_000_000, "bytes of the capture that is made")
	flag.IntVar(&b.rounds, "rounds", 5, "rounds of airtide and tcptrace; tshark runs in the first -tshark")
	flag.IntVar(&b.tshark, "tshark", 1, "rounds with tshark, which takes minutes")
	flag.StringVar(&b.page, "page", "docs/results/performance.md", "the page whose table is written")
	flag.Parse()
	benchtext.Run("bench-packets", b.run)
}

type benchmark struct {
	airtide, capture, page string
	size                   int64
	rounds, tshark         int
}

// way is a program on a number of cores.
type way struct {
	name    string
	cores   string // argument of taskset -c
	command []string
	rounds  int
	runs    []cost
}

// cost is the time of one run in seconds.
type cost struct{ wall, processor float64 }

func (b *benchmark) run(ctx context.Context) error {
	if b.rounds < 1 || b.tshark < 1 || b.tshark > b.rounds {
		return errors.New("want at least one round, and at most as many of tshark")
	}
	if b.capture == "" {
		dir, err := os.MkdirTemp("/dev/shm", "airtide-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		b.capture = filepath.Join(dir, "bench.pcap")
		if err := writeCapture(b.capture, b.size); err != nil {
			return err
		}
	}
	_, report, err := measure(ctx, b.airtide, "packets", b.capture, "--json")
	if err != nil {
		return err
	}
	ours, packets, err := airtideCounts(report)
	if err != nil {
		return err
	}
	ways := []*way{
		{"airtide packets, one core", "0", []string{b.airtide, "packets", b.capture}, b.rounds, nil},
		{"airtide packets, two cores", "0,1", []string{b.airtide, "packets", b.capture}, b.rounds, nil},
		{"tcptrace -n -l", "0,1", []string{"tcptrace", "-n", "-l", b.capture}, b.rounds, nil},
		{"tshark -q -z io,stat", "0,1", tsharkCommand(b.capture), b.tshark, nil},
	}
	for round := range b.rounds {
		for _, w := range ways {
			if round >= w.rounds {
				continue
			}
			c, output, err := measure(ctx, append([]string{"taskset", "-c", w.cores}, w.command...)...)
			if err != nil {
				return err
			}
			w.runs = append(w.runs, c)
			if w.command[0] == "tshark" {
				if err := equalCounts(ours, string(output)); err != nil {
					return err
				}
			}
			fmt.Fprintf(os.Stderr, "round %d, %s: %.2f s, %.2f s of processors\n", round+1, w.name, c.wall, c.processor)
		}
	}
	info, err := os.Stat(b.capture)
	if err != nil {
		return err
	}
	text := table(ways, packets, info.Size())
	fmt.Println(text)
	return benchtext.WriteTable(b.page, tableBegin, tableEnd, text)
}

const (
	tableBegin = "<!-- packets begin: make bench-packets -->\n"
	tableEnd   = "<!-- packets end -->\n"
)

// measure runs a program and returns its cost and output.
func measure(ctx context.Context, command ...string) (cost, []byte, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var out, complaints bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &complaints
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, nil, fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err,
			benchtext.LastLine(complaints.String()))
	}
	state := cmd.ProcessState
	return cost{time.Since(begun).Seconds(), (state.UserTime() + state.SystemTime()).Seconds()}, out.Bytes(), nil
}

// table shows the ways, their ratios to airtide on one core by round, and the machine.
func table(ways []*way, packets uint64, size int64) string {
	var t strings.Builder
	fmt.Fprintf(&t, "%d packets, %s; %s.\n\n", packets, units.Size(size).Short(), benchtext.Machine())
	t.WriteString("| program | wall clock, s | processors, s | ns of processor per packet |" +
		" processors, times airtide on one core | wall clock, times airtide on two |\n|---|---|---|---|---|---|\n")
	for _, w := range ways {
		wall := benchtext.SpreadOf(w.runs, func(c cost) float64 { return c.wall })
		processor := benchtext.SpreadOf(w.runs, func(c cost) float64 { return c.processor })
		fmt.Fprintf(&t, "| %s | %s | %s | %.0f | %s | %s |\n", w.name, wall.Text("%.2f"), processor.Text("%.2f"),
			processor.Median/float64(packets)*1e9,
			ratios(w, ways[0], func(c cost) float64 { return c.processor }).Text("%.2f"),
			ratios(w, ways[1], func(c cost) float64 { return c.wall }).Text("%.2f"))
	}
	return t.String()
}

// ratios compares two ways round by round.
func ratios(a, b *way, value func(cost) float64) benchtext.Spread {
	rounds := make([]int, len(a.runs))
	for i := range rounds {
		rounds[i] = i
	}
	return benchtext.SpreadOf(rounds, func(i int) float64 { return value(a.runs[i]) / value(b.runs[i]) })
}

// signs are the counts that both programs make, by their names in tshark and in airtide's JSON.
var signs = []struct {
	tshark  string
	airtide []string
}{
	{"retransmission", []string{"retransmissions", "fast_retransmissions", "spurious_retransmissions"}},
	{"fast_retransmission", []string{"fast_retransmissions"}},
	{"spurious_retransmission", []string{"spurious_retransmissions"}},
	{"out_of_order", []string{"out_of_order"}},
	{"lost_segment", []string{"segments_behind_gaps"}},
	{"duplicate_ack", []string{"duplicate_acks"}},
	{"window_full", []string{"window_full"}},
	{"zero_window", []string{"zero_windows"}},
}

// tsharkCommand counts all signs.
func tsharkCommand(capture string) []string {
	stat := "io,stat,0,tcp"
	for _, s := range signs {
		stat += ",tcp.analysis." + s.tshark
	}
	return []string{"tshark", "-n", "-r", capture, "-q", "-z", stat}
}

// equalCounts fails if tshark counts anything else.
func equalCounts(ours []uint64, text string) error {
	theirs, err := tsharkCounts(text)
	if err == nil && !slices.Equal(ours, theirs) {
		err = fmt.Errorf("airtide counts %d, tshark %d", ours, theirs)
	}
	return err
}

// tsharkCounts reads the last row of a table of io,stat: frames and bytes of each filter.
func tsharkCounts(text string) ([]uint64, error) {
	for line := range strings.Lines(text) {
		_, values, found := strings.Cut(line, "<>")
		if !found {
			continue
		}
		fields := strings.FieldsFunc(values, func(r rune) bool { return r == '|' || r == ' ' || r == '\n' })
		counts := make([]uint64, 0, len(signs)+1)
		for i := 1; i < len(fields); i += 2 { // behind the end of the interval
			var n uint64
			if _, err := fmt.Sscan(fields[i], &n); err != nil {
				return nil, fmt.Errorf("tshark's table: %w: %s", err, line)
			}
			counts = append(counts, n)
		}
		if len(counts) == len(signs)+1 {
			return counts, nil
		}
	}
	return nil, fmt.Errorf("tshark printed no counts: %s", text)
}

// airtideCounts sums up both directions of all connections.
func airtideCounts(content []byte) (counts []uint64, packets uint64, err error) {
	var report struct {
		Connections []map[string]any
		Totals      struct {
			Packets uint64
			TCP     uint64 `json:"tcp_packets"`
		}
	}
	if err := json.Unmarshal(content, &report); err != nil {
		return nil, 0, err
	}
	counts = make([]uint64, len(signs)+1)
	counts[0] = report.Totals.TCP
	for _, c := range report.Connections {
		for _, side := range []string{"from_client", "from_server"} {
			d, _ := c[side].(map[string]any)
			for i, s := range signs {
				for _, name := range s.airtide {
					n, known := d[name].(float64)
					if !known {
						return nil, 0, fmt.Errorf("the JSON of packets has no %s", name)
					}
					counts[i+1] += uint64(n)
				}
			}
		}
	}
	return counts, report.Totals.Packets, nil
}
