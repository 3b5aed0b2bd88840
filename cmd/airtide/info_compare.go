package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"airtide/internal/recording/summary"
	"airtide/internal/recording/trace"
	"airtide/internal/view/terminal"
)

// comparisonJSON is the JSON of info with two recordings.
type comparisonJSON struct {
	A comparedRecording `json:"a"`
	B comparedRecording `json:"b"`
	// Changes sets the totals side by side, and Flows the flows of equal roles.
	Changes summary.Changes `json:"changes"`
	Flows   []summary.Pair  `json:"flows"`
}

// comparedRecording is a recording without its flows.
type comparedRecording struct {
	File      string         `json:"file"`
	Recording trace.Metadata `json:"recording"`
	Damage    trace.Damage   `json:"damage"`
	Totals    summary.Totals `json:"totals"`
}

// printComparison prints two recordings side by side.
func printComparison(
	t *terminal.Terminal, files []string, info [2]*summedUp, order *summary.Order, asJSON bool,
) error {
	a := info[0]
	b := info[1]
	c := summary.Compare(a.list(order), b.list(order))
	changes := summary.ChangesOf(&a.Totals, &b.Totals)
	if asJSON {
		whole := comparisonJSON{
			comparedRecording{files[0], a.Recording, a.Damage, a.Totals},
			comparedRecording{files[1], b.Recording, b.Damage, b.Totals},
			*changes,
			[]summary.Pair{},
		}
		return t.JSONWithList(whole, "flows", anyOf(c.Pairs()))
	}
	var text bytes.Buffer
	for i, name := range []string{"A", "B"} {
		var metadata bytes.Buffer
		writeMetadata(&metadata, files[i], info[i].Recording)
		lines := strings.TrimSuffix(metadata.String(), "\n")
		fmt.Fprintf(&text, "%s  %s\n", name, strings.ReplaceAll(lines, "\n", "\n   "))
	}
	text.WriteString("\n")
	if err := t.PrintWrapped(text.String(), len("A  ")); err != nil {
		return err
	}
	totals := &terminal.Table{Columns: []terminal.Column{
		{Title: "TOTAL", Least: 8},
		{Title: "A", Right: true},
		{Title: "B", Right: true},
		{Title: "CHANGE", Right: true, Optional: 1},
	}}
	totals.Add("flows", fmt.Sprint(a.Totals.Flows), fmt.Sprint(b.Totals.Flows))
	for _, row := range changes.Text() {
		totals.Add(row.Name, row.A, row.B, row.Change)
	}
	if err := t.Table(totals); err != nil || c.Len() == 0 {
		return err
	}
	if _, err := io.WriteString(t.Out, "\n"); err != nil {
		return err
	}
	return t.Table(pairsTable(c))
}

// maxPairs is the number of pairs in the table.
const maxPairs = 40

// pairsTable has a row for each pair of flows.
func pairsTable(c *summary.Comparison) *terminal.Table {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "FLOW\nA > B"},
		{Title: "PROCESS", Optional: 5, Least: 8},
		{Title: "ROLE", Optional: 4},
		{Title: "PEER", Optional: 7, Least: 12},
		{Title: "CC\nA > B", Optional: 3, Least: 12},
		{Title: "ACKED bit/s\nA > B  CHANGE", Right: true},
		{Title: "RECEIVED bit/s\nA > B  CHANGE", Right: true, Optional: 8},
		{Title: "RTT ms\nA > B  CHANGE", Right: true, Optional: 2},
		{Title: "RTT p99 ms\nA > B  CHANGE", Right: true, Optional: 9},
		{Title: "CWND packets\nA > B  CHANGE", Right: true, Optional: 6},
		{Title: "RETRANSMITTED\nA > B  CHANGE", Right: true, Optional: 10},
		{Title: "LIMITED BY\nA > B", Optional: 1},
	}}
	rows := 0
	for pair := range c.Pairs() {
		if rows == maxPairs {
			break
		}
		rows++
		p := pair.Text()
		table.Add(p.Flows, p.Process, p.Role, p.Peer, p.CongestionControl, p.AckedRate, p.ReceiveRate, p.Rtt, p.P99,
			p.Cwnd, p.Retrans, p.LimitedBy)
	}
	if more := c.Len() - rows; more > 0 {
		table.Add(fmt.Sprintf("and %d more: --json shows all", more))
	}
	return table
}
