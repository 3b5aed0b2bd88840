package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/units"
)

// wholeFile has every part that a file may have.
const wholeFile = `name: whole
title: every part of a file
source: none
duration: 20 s
warmup: 2 s
repeats: 5
seed: 7
terminals:
  phone:
    profile: pixel4
    congestion: reno
    sysctls: {net.ipv4.tcp_sack: 0}
  tablet:
    count: 2
    receive_buffer: {min: 4096 B, default: 87380 B, max: 110208 B}
    radio:
      standard: n
      phy_rate: 65 Mbit/s
      streams: 1
      width: 20
      guard_interval: 800 ns
      aggregation: {bytes: 32 kB, frames: 16, airtime: 2 ms}
      queue: 500 packets
      frame_errors: 1 %
      schedule:
        - {at: 10 s, phy_rate: 26 Mbit/s}
  board: {link: ethernet, congestion: fair}
servers:
  server: {profile: linux-today, congestion: compound}
  other:
cell:
  ap: {discipline: fq_codel, queue: 1000 packets, ack_thinning: true, window_sharing: true, aggregation: {frames: 32}}
  retry_limit: 4
  txop_limit: 2 ms
  block_ack_request: true
  eifs_after_collision: true
  super_packets: senders
path:
  rate: 1 Gbit/s
  queue: 256 kB
  rtt: 20 ms
  jitter: 1 ms
  jitter_distribution: normal
  up: {rate: 100 Mbit/s, loss: 0.2 %}
  terminals:
    tablet: {delay: 5 ms, down: {reorder: 0.01, duplicate: 0.1 %}}
    tablet2:
      burst_loss: {to_bad: 1 %, to_good: 20 %, loss_bad: 50 %}
      schedule:
        - {at: 5 s, rtt: 0}
  schedule:
    - {at: 10 s, rtt: 200 ms, rate: 10 Mbit/s}
flows:
  up: {from: [phone, tablet], to: server, protocol: tcp, stagger: 500 ms, parallel: 2, congestion: cubic}
  down: {from: phone, to: server, protocol: tcp, direction: reverse, start: 1 s, stop: 15 s}
  probe: {from: phone, to: server, protocol: ping, interval: 100 ms}
  noise: {from: other, to: board, protocol: udp, rate: 5 Mbit/s, length: 200 B}
  put: {from: tablet, to: server, protocol: http_put, size: 10 MB, transfers: 3}
  pages: {from: tablet1, to: other, protocol: web}
  small: {from: phone, to: other, protocol: transfers, transfers: 10000}
sweep:
  - over: path.rtt
    values: [20 ms, 200 ms]
  - paired:
      - {over: cell.ap.discipline, values: [fifo, airtime_fair]}
      - {over: cell.ap.queue, as: limit, values: [100 packets, 256 kB]}
  - name: system
    points:
      usual:
      lossy: {path.down.loss: 1 %, terminals.*.congestion: cubic}
congestion_controls:
  fair: {kind: cubic_rtt, rtt_ref: 200 ms, beta: 0.75, hystart: false}
  wide: {kind: compound, gamma: 20, gamma_low: 4, gamma_high: 40, lambda: 1, low_window: 10}
record: {tcp: all, packets: phone, interval: 200 ms}
measure:
  goodput: {quantity: goodput, flows: [up], take: each}
  rtt: {quantity: ping_rtt}
  cwnd: {quantity: max_cwnd, flows: up, take: max}
  window: {quantity: cwnd, flows: up, take: each}
  fairness: {quantity: goodput, flows: up, take: jain}
  air: {quantity: airtime, terminals: tablet, take: sum}
claims:
  enough: {says: it is enough, where: nowhere, holds: 'mean(at(goodput, {system: "lossy", limit: "256 kB"})) > 1
    and jain(goodput) > 0.2'}
figures:
  one: {kind: lines, x: rtt, y: [goodput], series: [system]}
  two: {kind: scatter, x: rtt, y: cwnd, at: {system: lossy}}
  three: {kind: timeline, y: [goodput, window], at: {rtt: 20 ms}, series: system}
`

func read(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := Read(t.Context(), "whole.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return p
}

func TestPointsOfARepeatMayShareTheirRandomNumbers(t *testing.T) {
	p := read(t, strings.Replace(wholeFile, "seed: 7", "seed: 7\nsame_seeds: true", 1))
	seeds := map[int]uint64{}
	for _, r := range p.Runs {
		if was, ok := seeds[r.Repeat]; ok && was != r.Seed {
			t.Errorf("run %s has the seed %d, another of its repeat %d", r.ID, r.Seed, was)
		}
		seeds[r.Repeat] = r.Seed
	}
	if seeds[1] == seeds[2] {
		t.Error("two repeats have one seed")
	}
}

func TestPlanHasEveryPointInEveryRound(t *testing.T) {
	p := read(t, wholeFile)
	if len(p.Points) != 8 || len(p.Runs) != 40 {
		t.Fatalf("2 x 2 x 2 points and 5 repeats gave %d points and %d runs", len(p.Points), len(p.Runs))
	}
	if want := "rtt=20ms,discipline=fifo,limit=100packets,system=usual"; p.Points[0].ID != want {
		t.Errorf("the first point is %s, expected %s", p.Points[0].ID, want)
	}
	ids := map[string]bool{}
	seeds := map[uint64]bool{}
	var orders []string
	for round := range 5 {
		var order []int
		for _, r := range p.Runs[round*8 : round*8+8] {
			if r.Repeat != round+1 {
				t.Errorf("run %s is in round %d", r.ID, round+1)
			}
			ids[r.ID] = true
			seeds[r.Seed] = true
			order = append(order, r.Point)
		}
		orders = append(orders, fmt.Sprint(order))
		slices.Sort(order)
		if !slices.Equal(order, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
			t.Errorf("round %d has the points %v", round+1, order)
		}
	}
	if len(ids) != 40 || len(seeds) != 40 {
		t.Errorf("40 runs have %d identifiers and %d seeds", len(ids), len(seeds))
	}
	slices.Sort(orders)
	if len(slices.Compact(orders)) < 4 {
		t.Error("the rounds have the same order")
	}
	for atOnce, rounds := range map[int]int{0: 40, 1: 40, 8: 5, 7: 6, 64: 1} {
		if got, want := p.Estimate(p.Runs, atOnce, 3*time.Second), time.Duration(rounds)*23*time.Second; got != want {
			t.Errorf("40 runs of 20 s with 3 s overhead, %d at a time, take %s, expected %s", atOnce, got, want)
		}
	}
}

func TestRunsKeepIdentifierAndSeedWhenAnExperimentGrows(t *testing.T) {
	before := read(t, wholeFile)
	grown := strings.Replace(wholeFile, "values: [20 ms, 200 ms]", "values: [0 ms, 20 ms, 100 ms, 200 ms]", 1)
	after := read(t, strings.Replace(grown, "repeats: 5", "repeats: 9", 1))
	seeds := map[string]uint64{}
	for _, r := range after.Runs {
		seeds[r.ID] = r.Seed
	}
	for _, r := range before.Runs {
		if seeds[r.ID] != r.Seed {
			t.Errorf("%s had the seed %d, now %d", r.ID, r.Seed, seeds[r.ID])
		}
	}
	other := read(t, strings.Replace(wholeFile, "seed: 7", "seed: 8", 1))
	if other.Runs[0].Seed == seeds[other.Runs[0].ID] {
		t.Error("another seed of the experiment left a run's as it was")
	}
	listed := read(t, strings.Replace(wholeFile, "repeats: 5\nseed: 7", "seeds: [7, 8]", 1))
	if len(listed.Runs) != 16 || listed.Runs[0].Seed != seeds[listed.Runs[0].ID] {
		t.Errorf("two seeds gave %d runs, the first with seed %d", len(listed.Runs), listed.Runs[0].Seed)
	}
}

func TestSweepSetsItsValues(t *testing.T) {
	p := read(t, wholeFile)
	last := p.Points[7]
	if got := fmt.Sprint(
		last.Settings,
	); got != "[{rtt {200 ms 0.2}} {discipline {airtime_fair NaN}} {limit {256 kB 256000}} {system {lossy NaN}}]" {
		t.Errorf("the last point is %s", got)
	}
	s := last.Setup
	if s.Cell.AP.Discipline != AirtimeFair || s.Cell.AP.Queue.Bytes != 256000 {
		t.Errorf("its access point has %s of %s", s.Cell.AP.Discipline, s.Cell.AP.Queue)
	}
	for _, terminal := range s.Terminals {
		if terminal.Stack.Congestion != "cubic" {
			t.Errorf("%s runs %q: the star did not reach it", terminal.Name, terminal.Stack.Congestion)
		}
	}
	if first := p.Points[0].Setup.Terminals[0].Stack.Congestion; first != "reno" {
		t.Errorf("at the first point the phone runs %q: points share their values", first)
	}
}

func TestProfileLiesUnderTheFile(t *testing.T) {
	s := read(t, wholeFile).Points[0].Setup
	phone := s.Terminals[0]
	if phy := phone.Radio.PHY[0].PHY; phy.WidthMHz != 80 || phy.Streams != 2 || phy.Index != 9 {
		t.Errorf("the phone sends by %+v, expected what its profile says", phy)
	}
	if phone.Stack.Congestion != "reno" || phone.Stack.ReceiveBuffer.Max != 2097152 ||
		phone.Stack.Sysctls["net.ipv4.tcp_sack"] != "0" {
		t.Errorf("the phone has %+v", phone.Stack)
	}
	if server := s.Servers[0]; server.Stack.ReceiveBuffer.Max != 6291456 {
		t.Errorf("the server has %+v", server.Stack)
	}
	if tablet := s.Terminals[1].Radio; tablet.Aggregation != (Aggregation{32000, 16, Duration(2e6)}) ||
		len(tablet.PHY) != 2 || tablet.PHY[1].PHY.Index != 3 {
		t.Errorf("the tablet's radio is %+v", tablet)
	}
	if phone.Radio.Aggregation != (Aggregation{1048575, 64, maxPPDU}) {
		t.Errorf("the phone's aggregation is %+v, expected the standard's", phone.Radio.Aggregation)
	}
}

func TestGroupsBecomeMachinesAndFlows(t *testing.T) {
	s := read(t, wholeFile).Points[0].Setup
	var names []string
	for _, terminal := range s.Terminals {
		names = append(names, terminal.Name)
	}
	if got := strings.Join(names, " "); got != "phone tablet1 tablet2 board" {
		t.Errorf("the terminals are %s", got)
	}
	var flows []string
	for _, f := range s.Flows {
		flows = append(flows, fmt.Sprintf("%s:%s>%s@%s-%s", f.Name, f.From, f.To, f.Start, f.Flow.Stop))
	}
	want := "up1:phone>server@0 s-20 s up2:tablet1>server@500 ms-20 s up3:tablet2>server@1 s-20 s " +
		"down:phone>server@1 s-15 s probe:phone>server@0 s-20 s noise:other>board@0 s-20 s " +
		"put1:tablet1>server@0 s-20 s put2:tablet2>server@0 s-20 s pages:tablet1>other@0 s-20 s " +
		"small:phone>other@0 s-20 s"
	if got := strings.Join(flows, " "); got != want {
		t.Errorf("the flows are\n%s, expected\n%s", got, want)
	}
	if got := strings.Join(s.RecordTCP, " "); got != "phone tablet1 tablet2 board server other" {
		t.Errorf("recorded are %s", got)
	}
}

func TestPathIsWorkedOutForEachTerminalAndDirection(t *testing.T) {
	s := read(t, wholeFile).Points[0].Setup
	if s.WireUp.Rate != 100e6 || s.WireDown.Rate != 1e9 || len(s.WireUp.Steps) != 1 ||
		s.WireUp.Steps[0] != (WireStep{Duration(10e9), 10e6}) {
		t.Errorf("the wire is %+v up and %+v down", s.WireUp, s.WireDown)
	}
	show := func(steps []LineStep) string {
		var parts []string
		for _, step := range steps {
			l := step.Line
			part := fmt.Sprintf("%s: %s +-%s %s loss %s reorder %s twice %s", step.At, l.Delay, l.Jitter, l.Spread,
				l.Loss, l.Reorder, l.Duplicate)
			if l.BurstLoss != nil {
				part += " bursts"
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, "; ")
	}
	for _, c := range []struct{ name, got, want string }{
		{
			"phone up", show(s.Terminals[0].Up),
			"0 s: 10 ms +-1 ms normal loss 0.2 % reorder 0 % twice 0 %; 10 s: 100 ms +-1 ms normal loss 0.2 % " +
				"reorder 0 % twice 0 %",
		},
		{
			"phone down", show(s.Terminals[0].Down),
			"0 s: 10 ms +-1 ms normal loss 0 % reorder 0 % twice 0 %; 10 s: 100 ms +-1 ms normal loss 0 % " +
				"reorder 0 % twice 0 %",
		},
		{
			"tablet1 down", show(s.Terminals[1].Down),
			"0 s: 5 ms +-1 ms normal loss 0 % reorder 1 % twice 0.1 %; 10 s: 100 ms +-1 ms normal loss 0 % " +
				"reorder 1 % twice 0.1 %",
		},
		{
			"tablet2 up", show(s.Terminals[2].Up),
			"0 s: 5 ms +-1 ms normal loss 0.2 % reorder 0 % twice 0 % bursts; 5 s: 0 s +-1 ms normal loss 0.2 % " +
				"reorder 0 % twice 0 % bursts; 10 s: 100 ms +-1 ms normal loss 0.2 % reorder 0 % twice 0 % bursts",
		},
	} {
		if c.got != c.want {
			t.Errorf("%s is\n%s, expected\n%s", c.name, c.got, c.want)
		}
	}
}

func TestBandFollowsFromTheStandards(t *testing.T) {
	for standard, want := range map[string]Band{
		"g\n      phy_rate: 54 Mbit/s": Band24, "n\n      phy_rate: 65 Mbit/s": Band5,
		"a\n      phy_rate: 54 Mbit/s": Band5,
	} {
		p := read(
			t,
			"name: band\nterminals:\n  sta:\n    radio:\n      standard: "+standard+"\nservers: {s: }\nflows:\n  f: "+
				"{from: sta, to: s, protocol: tcp}\n",
		)
		if got := p.Points[0].Setup.Band; got != want {
			t.Errorf("802.11%s is at %s, expected %s", standard, got, want)
		}
	}
}

func TestPlanIsPrinted(t *testing.T) {
	var b bytes.Buffer
	if err := read(t, wholeFile).Print(&b, Overhead); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"experiment  whole", "phone", "802.11ac at 866.7 Mbit/s", "RTT +20 ms",
		"fifo of 100 packets, ACKs thinned, windows shared",
		"udp from other to board, 5 Mbit/s, 0 s to 20 s", "rtt", "20 ms, 200 ms", "x 5 repeats = 40 runs",
		"some 15m20s",
		"rtt=200ms,discipline=airtime_fair,limit=256kB,system=lossy",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the printed plan has no %q:\n%s", want, b.String())
		}
	}
}

// A plan is kept beside its results, and what it says there reads as the file does.
func TestPlanIsWrittenAsJSON(t *testing.T) {
	b, err := json.Marshal(read(t, wholeFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"parameter":"rtt","value":{"text":"20 ms","number":0.02}`,
		`"parameter":"discipline","value":{"text":"fifo","number":null}`,
		`"phy_rate":"65 Mbit/s"`,
		`"standard":"802.11ac","rate_bps":866666666,"width_mhz":80,"streams":2,"mcs":9,"guard_ns":400`,
		`"delay":"10 ms"`, `"queue":"256 kB"`, `"id":"rtt=20ms,discipline=fifo,limit=100packets,system=usual,r=1"`,
	} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("the plan as JSON has no %s", want)
		}
	}
}

func TestAnExperimentWithoutSweepIsOnePoint(t *testing.T) {
	p := read(t, minimal)
	if len(p.Points) != 1 || len(p.Runs) != 1 || p.Runs[0].ID != "r=1" ||
		p.Points[0].Setup.Duration != defaultDuration {
		t.Errorf("got %d points, runs %+v", len(p.Points), p.Runs)
	}
}

func TestLongAndLikeNamedPointsAreToldApart(t *testing.T) {
	long := "sysctls: {net.ipv4.tcp_sack: 0}"
	text := strings.Replace(minimal, "link: ethernet", "link: ethernet, "+long, 1) +
		"sweep:\n  - {over: terminals.sta.congestion, values: [bbr1]}\n  - {over: terminals.sta.sysctls, as: " +
		"" + strings.Repeat("s", 39) +
		", values: [{net.ipv4.tcp_sack: 1}, {net.ipv4.tcp_sack: 0}]}\n  - {over: path.rtt, as: " + strings.Repeat(
		"t", 39,
	) +
		", values: [1 ms, 1  ms]}\n  - {over: path.loss, as: " + strings.Repeat(
		"u", 39,
	) + ", values: [0]}\n  - {over: path.jitter, as: " +
		strings.Repeat("v", 39) + ", values: [0]}\n"
	p := read(t, text)
	seen := map[string]bool{}
	for _, r := range p.Runs {
		if seen[r.ID] || len(r.ID) > 200 {
			t.Errorf("the run %q (%d letters) comes twice or is too long", r.ID, len(r.ID))
		}
		seen[r.ID] = true
	}
	if len(seen) != 4 {
		t.Errorf("got %d runs, expected 4", len(seen))
	}
}

func TestProblemsAreOfTheirType(t *testing.T) {
	_, err := Read(t.Context(), "x.yaml", []byte("name: x"))
	var ps Problems
	if !errors.As(err, &ps) || ps[0].File != "x.yaml" || ps[0].Line != 1 {
		t.Errorf("got %#v", err)
	}
}

// The verb with which one looks at another person's file before running it must not obey the file.
func TestPrintedPlansAreClean(t *testing.T) {
	text := strings.Replace(wholeFile, "name: whole\n", `name: whole
title: "\e]0;owned\a\nforged  row"
source: "\u009b2J\u202eforged\tcell"
`, 1)
	text = regexp.MustCompile(`(?m)^(title|source): [^"\n]*\n`).ReplaceAllString(text, "")
	p, err := Read(t.Context(), "whole.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := p.Print(&b, Overhead); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\x1b", "\a", "\u009b", "\u202e", "\nforged"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("%q is in %q", bad, b.String())
		}
	}
}

func TestProblemsAreClean(t *testing.T) {
	_, err := Read(t.Context(), "x.yaml", []byte("name: x\n\"bad\\nx.yaml:1:1: forged\\e[2J\": 1\n"))
	if err == nil || strings.ContainsAny(err.Error(), "\x1b") || strings.Contains(err.Error(), "\nx.yaml:1:1: forged") {
		t.Errorf("got %q", err)
	}
}

// Names of another person's file are hostile. Each is refused in one short line for each problem.
func TestHostileNamesHaveShortProblems(t *testing.T) {
	const cell = `terminals: {phone: {radio: {standard: ac, phy_rate: 433.3 Mbit/s}%s}%s}
servers: {server: {}%s}
%s
`
	for _, name := range []string{
		strings.Repeat("x", 10_000), "../../etc/cron", "/etc/passwd", "..", "-rf", "a b",
		"\x1b]0;owned\a\n\u009b\u202e",
		"x\ny.yaml:1:1: forged", strings.Repeat("\u202e", 10_000), "",
	} {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		for place, parts := range map[string][]any{
			"terminal":   {"", ", " + string(quoted) + ": {link: ethernet}", "", ""},
			"server":     {"", "", ", " + string(quoted) + ": {}", ""},
			"field":      {", " + string(quoted) + ": 1", "", "", ""},
			"name":       {"", "", "", "name: " + string(quoted)},
			"interface":  {`, outside: {addresses: 10.9.0.1, interface: ` + string(quoted) + "}", "", "", ""},
			"sysctl":     {", sysctls: {" + string(quoted) + ": 1}", "", "", ""},
			"profile":    {", profile: " + string(quoted), "", "", ""},
			"congestion": {", congestion: " + string(quoted), "", "", ""},
			"path":       {"", "", "", "path: {terminals: {" + string(quoted) + ": {loss: 1 %}}}"},
		} {
			if name == "" && (place == "congestion" || place == "profile") || name == "-rf" && place == "interface" {
				continue // none, and a name that the kernel takes
			}
			_, err := ReadCell("x.yaml", fmt.Appendf(nil, cell, parts...))
			if err == nil {
				t.Errorf("%s %.20q is taken", place, name)
				continue
			}
			for _, line := range strings.Split(err.Error(), "\n") {
				if !strings.HasPrefix(line, "x.yaml:") || units.Printable(line) != line || len(line) > 4000 ||
					strings.HasPrefix(line, "x.yaml:1:1: forged") {
					t.Errorf("%s %.20q: %q", place, name, line)
				}
			}
		}
	}
}
