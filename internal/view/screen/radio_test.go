package screen

import (
	"strings"
	"testing"

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

func TestWithoutARadioThereIsNoLine(t *testing.T) {
	var out strings.Builder
	observe(t, WriteTable(&out, day, NewTable(TableOptions{}).Status(1), nil, 80))
	if strings.Contains(out.String(), "radio") {
		t.Errorf("%s", &out)
	}
}
