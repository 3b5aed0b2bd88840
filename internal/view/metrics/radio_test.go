package metrics

import (
	"fmt"
	"strings"
	"testing"

	"airtide/internal/diagnose"
	"airtide/internal/tcp"
	"airtide/test/collector"
)

// record is a record about wlan0.
func record(kind tcp.RadioKind, station string, values map[tcp.RadioField]int64) *tcp.Radio {
	r := &tcp.Radio{Kind: kind, Interface: "wlan0", NetNS: 7, Station: station, Values: tcp.NoRadioValues()}
	for f, v := range values {
		r.Values[f] = v
	}
	return r
}

func tell(t *testing.T, o *Observer, records ...*tcp.Radio) {
	t.Helper()
	for _, r := range records {
		if err := o.Radio(r); err != nil {
			t.Fatal(err)
		}
	}
}

// Counters of an association that begin anew, and those of several stations, add up.
func TestRadiosHaveMetrics(t *testing.T) {
	o := New(diagnose.PerAck)
	station := func(address string, packets, retries int64) *tcp.Radio {
		return record(tcp.RadioStation, address, map[tcp.RadioField]int64{
			tcp.RadioTxPackets: packets, tcp.RadioTxRetries: retries, tcp.RadioTxRateBps: 65e6, tcp.RadioSignalDbm: -61,
		})
	}
	channel := func(frequency, all, busy int64) *tcp.Radio {
		return record(tcp.RadioChannel, "", map[tcp.RadioField]int64{
			tcp.RadioFrequencyMHz: frequency, tcp.RadioChannelMs: all, tcp.RadioBusyMs: busy,
		})
	}
	tell(t, o,
		station("a", 1000, 10), station("b", 7, 0), station("a", 1100, 30), station("b", 9, 1), station("a", 5, 0),
		station("a", 8, 1),
		channel(5180, 1000, 400), channel(5180, 3000, 900),
		channel(2412, 50_000, 50_000), channel(2412, 51_000, 50_100),
		record(tcp.RadioScanStart, "", nil), record(tcp.RadioScanStart, "", nil), record(tcp.RadioRoam, "", nil),
	)
	got := scrape(t, o)
	wantValues(t, got, collector.Values{
		`airtide_radio_packets_total{interface="wlan0",netns="7",outcome="sent"}`:             105,
		`airtide_radio_packets_total{interface="wlan0",netns="7",outcome="repeated"}`:         22,
		`airtide_radio_rate_bps{interface="wlan0",netns="7",network_io_direction="transmit"}`: 65e6,
		`airtide_radio_signal_dbm{interface="wlan0",netns="7"}`:                               -61,
		`airtide_radio_channel_seconds_total{interface="wlan0",netns="7",state="busy"}`:       0.6,
		`airtide_radio_channel_seconds_total{interface="wlan0",netns="7",state="idle"}`:       2.4,
		`airtide_radio_events_total{event="scan_start",interface="wlan0",netns="7"}`:          2,
		`airtide_radio_events_total{event="roam",interface="wlan0",netns="7"}`:                1,
	})
	for name := range got {
		if strings.Contains(name, `"failed"`) ||
			strings.Contains(name, `"receive"`) && strings.Contains(name, "radio") {
			t.Errorf("%s: the driver does not tell it", name)
		}
	}
}

// A host may make interfaces and meet stations without end.
func TestRadiosAreBounded(t *testing.T) {
	o := New(diagnose.PerAck)
	for i := range 3 * maxRadios {
		r := record(tcp.RadioScanStart, "", nil)
		r.Interface = fmt.Sprint("wlan", i)
		tell(t, o, r)
	}
	for i := range 3 * maxStations {
		tell(t, o, record(tcp.RadioStation, fmt.Sprint(i), nil))
	}
	wlan0 := o.radios[tcp.RadioID{NetNS: 7, Interface: "wlan0"}]
	if len(o.radios) != maxRadios || len(wlan0.stations) > maxStations {
		t.Errorf("%d radios, %d stations", len(o.radios), len(wlan0.stations))
	}
	var events int
	points, _, err := o.gather(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range points {
		if p.Metric == radioEvents {
			events++
		}
	}
	if events != maxRadios {
		t.Errorf("events of %d radios, want %d", events, maxRadios)
	}
}
