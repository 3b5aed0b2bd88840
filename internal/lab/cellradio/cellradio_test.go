package cellradio

import (
	"net/netip"
	"testing"

	"airtide/internal/cell"
	"airtide/internal/cell/live"
	"airtide/internal/tcp"
)

func TestTerminalsBecomeRecordsOfRadios(t *testing.T) {
	address := netip.MustParseAddr("10.1.0.1")
	report := &live.Report{
		Name:  "home",
		Hosts: []cell.Host{{Name: "phone", Address: address}, {Name: "desk"}},
		Status: &cell.Status{TimeNs: 3e9, Terminals: []cell.TerminalStatus{
			{
				Name: "phone", PHYRateBps: 65e6,
				Up:   cell.RadioCounts{AirtimeNs: 1e9, DeliveredPackets: 90, GivenUp: 10, Retries: 70},
				Down: cell.RadioCounts{AirtimeNs: 5e8, DeliveredPackets: 40},
			},
			{Name: "desk", Ethernet: true},
		}, AP: cell.APStatus{Radio: cell.RadioCounts{AirtimeNs: 6e8}}},
	}
	var r recorder
	records := r.records(report, 7, true)
	if len(records) != 3 {
		t.Fatalf("%d records: %+v", len(records), records)
	}
	at := &records[0]
	station := &records[1]
	channel := &records[2]
	if at.Kind != tcp.RadioInterface || at.Interface != "phone" || at.SSID != "home" || at.Addresses[0] != address {
		t.Errorf("interface: %+v", at)
	}
	for f, want := range map[tcp.RadioField]int64{
		tcp.RadioTxRateBps: 65e6, tcp.RadioTxPackets: 100, tcp.RadioTxRetries: 70, tcp.RadioTxFailed: 10,
		tcp.RadioRxPackets: 40, tcp.RadioTxAirtimeUs: 1e6, tcp.RadioSignalDbm: tcp.Absent,
	} {
		if got := station.Values[f]; station.Kind != tcp.RadioStation || got != want {
			t.Errorf("%s of %s is %d, want %d", f, station.Kind, got, want)
		}
	}
	for f, want := range map[tcp.RadioField]int64{
		tcp.RadioChannelMs: 3000, tcp.RadioBusyMs: 1600, tcp.RadioChannelTxMs: 1000, tcp.RadioChannelRxMs: 500,
	} {
		if got := channel.Values[f]; channel.Kind != tcp.RadioChannel || got != want {
			t.Errorf("%s of %s is %d, want %d", f, channel.Kind, got, want)
		}
	}
	// An interface is told once, and the channel not each time.
	if records := r.records(report, 8, false); len(records) != 1 || records[0].Kind != tcp.RadioStation {
		t.Errorf("the second time: %+v", records)
	}
}
