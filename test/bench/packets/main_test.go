package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/read"
)

// The capture is whole, the same each time, and has every kind of loss that is counted.
func TestMadeCapture(t *testing.T) {
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		if err := makeCapture(w, 5_000_000); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two captures of one size differ")
	}
	r, err := read.New(&a, "made")
	if err != nil {
		t.Fatal(err)
	}
	var repeated, dups, uploads, short uint64
	totals, err := conn.Run(t.Context(), r, conn.Options{Done: func(c *conn.Connection) error {
		repeated += c.FromClient.AllRetransmissions()
		dups += c.FromServer.DupAcks
		switch {
		case c.End == "fin" && c.Handshake == "full":
			short++
		case c.FromClient.DataBytes > 100_000:
			uploads++
		}
		return nil
	}})
	if err != nil || totals.Bad+totals.Cut+totals.Other+totals.ClockStepsBack != 0 || totals.TCP != totals.Packets {
		t.Errorf("%v, %+v", err, totals)
	}
	if repeated < 10 || dups < 10*repeated || uploads != bulkFlows || short != totals.Connections-bulkFlows {
		t.Errorf("%d repeated, %d duplicate ACKs, %d uploads, %d short connections", repeated, dups, uploads, short)
	}
}

func TestCountsOfTshark(t *testing.T) {
	text := "| Interval      | Frames |  Bytes |\n| 0.000 <> 0.175 |    700 | 862311 |     95 | 343750 " +
		strings.Repeat("|   1 |   60 ", 7) + "|\n"
	counts, err := tsharkCounts(text)
	if want := []uint64{700, 95, 1, 1, 1, 1, 1, 1, 1}; err != nil || !slices.Equal(counts, want) {
		t.Errorf("%v, %v", counts, err)
	}
	if err := equalCounts([]uint64{700, 96, 1, 1, 1, 1, 1, 1, 1}, text); err == nil {
		t.Error("other counts are equal")
	}
	for _, bad := range []string{"", "| 0.000 <> 0.175 |    700 | 862311 |", strings.Replace(text, "95", "x", 1)} {
		if counts, err := tsharkCounts(bad); err == nil {
			t.Errorf("%q gives %v", bad, counts)
		}
	}
}

func TestTable(t *testing.T) {
	ways := []*way{
		{name: "fast", runs: []cost{{1, 2}, {2, 2}}},
		{name: "two", runs: []cost{{0.5, 3}, {1, 3}}},
		{name: "slow", runs: []cost{{10, 8}}},
	}
	text := table(ways, 1000, 1_000_000)
	for _, want := range []string{
		"1000 packets", "| slow | 10.00 (10.00...10.00) |", "| 4.00 (4.00...4.00) | 20.00 (",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}
