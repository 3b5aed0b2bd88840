package main

import (
	"io"
	"strings"
	"testing"
)

// As BenchmarkDelay prints it, on a machine of two processors.
const delayOutput = "goos: linux\n" +
	"BenchmarkDelay/100Mbps/supers=false-2         \t       1\t5123456789 ns/op\t" +
	"         0.1700 cores\t       281.0 down-p99-µs\t      2394 down-p99.9-µs\t" +
	"        65.00 down-p50-µs\t     20000 lag-max-µs\t       300.0 lag-p99-µs\t" +
	"         2.500 stolen-%\t        40.00 turn-p99-µs\t        87.00 up-p50-µs\t" +
	"       326.0 up-p99-µs\t      2874 up-p99.9-µs\t        12.00 wake-p99-µs\n" +
	"BenchmarkDelay/100Mbps/supers=false-2         \t       1\t5123456789 ns/op\t" +
	"         0.1900 cores\t       283.0 down-p99-µs\t      2396 down-p99.9-µs\t" +
	"        67.00 down-p50-µs\t     20000 lag-max-µs\t       300.0 lag-p99-µs\t" +
	"         4.500 stolen-%\t        44.00 turn-p99-µs\t        89.00 up-p50-µs\t" +
	"       328.0 up-p99-µs\t      2876 up-p99.9-µs\t        18.00 wake-p99-µs\n" +
	"PASS\n"

func TestTheDelaysTableSaysWhatTheyAreOwedTo(t *testing.T) {
	var b strings.Builder
	var v verdicts
	delayTable(&b, delayOutput, &v)
	if len(v) != 1 || v[0].rows != 2 || v[0].outside != nil {
		t.Errorf("verdicts %+v", v)
	}
	late := verdicts{}
	delayTable(io.Discard, strings.ReplaceAll(delayOutput, "       281.0 down-p99", "       981.0 down-p99"), &late)
	delayTable(io.Discard, strings.ReplaceAll(delayOutput, "up-p99-µs", "x"), &late)
	if want := "100 Mbit/s, packet by packet down, 100 Mbit/s, packet by packet up"; strings.Join(late[0].outside,
		", ") != want {
		t.Errorf("outside are %q", late[0].outside)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines:\n%s", len(lines), b.String())
	}
	for _, want := range []string{"100 Mbit/s, packet by packet | up | 88 (87...89) | 327 (326...328) | 2875 " +
		"(2874...2876)", "| 0.18 (0.17...0.19) |", "| 15 (12...18) | 42 (40...44) | 3.5 (2.5...4.5) |"} {
		if !strings.Contains(lines[2], want) {
			t.Errorf("the row lacks %q: %s", want, lines[2])
		}
	}
	for _, line := range lines[1:] {
		if strings.Count(line, "|") != strings.Count(lines[0], "|") {
			t.Errorf("columns without a heading, or the other way round: %s", line)
		}
	}
}
