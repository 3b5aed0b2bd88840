package screen

import (
	"strings"
	"testing"

	"airtide/internal/diagnose"
	"airtide/internal/tcp"
)

// The state of the radio stands in a line of its own, in 80 columns and without control characters,
// and tells of the last seconds alone.
func TestTheRadioHasALine(t *testing.T) {
	table := NewTable(TableOptions{})
	r := tcp.Radio{Kind: tcp.RadioInterface, Interface: "wlan0", SSID: "ce\x1b[31mll", Values: tcp.NoRadioValues()}
	observe(t, table.Radio(&r))
	for _, f := range []tcp.RadioField{tcp.RadioTxPackets, tcp.RadioTxRetries, tcp.RadioTxFailed} {
		r.Values[f] = 0
	}
	r.Kind = tcp.RadioStation
	r.Values[tcp.RadioSignalDbm] = -61
	at := int64(0)
	for _, bps := range []int64{6e6, 65e6} { // 10 s each
		for range 100 {
			at += 100e6
			r.TimeNs = at
			r.Values[tcp.RadioTxRateBps] = bps
			r.Values[tcp.RadioTxPackets] += 100
			r.Values[tcp.RadioTxRetries] += 25
			observe(t, table.Radio(&r))
		}
	}
	var out strings.Builder
	observe(t, WriteTable(&out, day, table.Status(at), nil, 80))
	want := "# radio wlan0 in ce?[31mll, tx 65.0 Mbit/s, -61 dBm, 25% retried\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("no line %q in\n%s", want, &out)
	}
}

// With drops the detail of a connection tells where its packets were lost, without control
// characters.
func TestTheDetailTellsWherePacketsWereLost(t *testing.T) {
	for _, drops := range []bool{true, false} {
		table := NewTable(TableOptions{Diagnosis: diagnose.Options{Drops: drops}})
		observe(t, table.Flow(&tcp.Flow{ID: 1, Comm: "curl"}))
		for _, e := range []tcp.Event{
			{Kind: tcp.EventDrop, From: tcp.DirectionSent, EndSeq: 1448, Text: "qdisc_drop at e\x1bh0"},
			{Kind: tcp.EventRetransmit, EndSeq: 2896, Value: 2},
		} {
			e.Flow = 1
			e.TimeNs = second
			observe(t, table.Event(&e))
		}
		u := newUser(t, table, 110, 24)
		u.press("enter")
		want := "losses       lost here, qdisc_drop at e?h0: 1 packet; lost beyond this host, or"
		u.expectSight("losses", want, drops)
	}
}

func TestWithoutARadioThereIsNoLine(t *testing.T) {
	var out strings.Builder
	observe(t, WriteTable(&out, day, NewTable(TableOptions{}).Status(1), nil, 80))
	if strings.Contains(out.String(), "radio") {
		t.Errorf("%s", &out)
	}
}
