package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"airtide/internal/cell"
	"airtide/internal/cell/live"
)

func seenCell() *live.Seen {
	radio := cell.RadioWindow{AirtimePercent: 30.3, CollisionsPercent: 14.9, RetriesPercent: 15, RateMbps: 1.2}
	queue := cell.QueueWindow{MeanPackets: 412.4, P95Packets: 500, Dropped: 3}
	return &live.Seen{
		Name: "home", ID: live.ID{PID: 4533, Number: 1},
		Engine: &cell.EngineStatus{Warnings: []string{"the engine is late\x1b[2J"}},
		Window: &cell.Window{
			Terminals: []cell.TerminalWindow{
				{
					Name: "phone", PHYRateBps: 433_300_000, SentMbps: 94.3, ReceivedMbps: -0.01, Up: radio,
					Queue: queue,
					Drops: cell.Drops{StationQueue: 7},
				},
				{Name: "desk\x1b[31m", Ethernet: true, SentMbps: 12},
			},
			AP:     cell.APWindow{Radio: radio, Queue: queue},
			WireUp: cell.WireWindow{RateBps: 100_000_000, RateMbps: 95.5, Queue: queue},
		},
	}
}

func TestTablesOfACellFitTheTerminal(t *testing.T) {
	for _, width := range []int{0, 30, 60, 80, 100, 120, 200} {
		var b strings.Builder
		if err := writeCell(&b, seenCell(), width, false); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
				t.Errorf("%d columns in a terminal of %d: %s", n, width, line)
			}
		}
		for _, want := range []string{"phone ", "94.3", "access point", "wire up", "wire down", "queue", "drops"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("width %d lacks %q:\n%s", width, want, b.String())
			}
		}
		if strings.ContainsAny(b.String(), "\x1b\r") || strings.Contains(b.String(), "-0.0") {
			t.Errorf("width %d: %q", width, b.String())
		}
	}
}

func TestWideTablesOfACellHaveAllColumns(t *testing.T) {
	var b strings.Builder
	if err := writeCell(&b, seenCell(), 100, false); err != nil {
		t.Fatal(err)
	}
	for title, times := range map[string]int{
		"PHY": 1, "collisions": 1, "A-MPDU": 1, "95 %": 3, "stay": 2,
		"AP queue": 1,
	} {
		if n := strings.Count(b.String(), title); n != times {
			t.Errorf("%q is there %d times:\n%s", title, n, b.String())
		}
	}
	for _, row := range []string{"433.3", "Ethernet", "100.0", "no limit", fmt.Sprint(500)} {
		if !strings.Contains(b.String(), row) {
			t.Errorf("%q is missing:\n%s", row, b.String())
		}
	}
}
