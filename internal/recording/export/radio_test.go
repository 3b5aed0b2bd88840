package export

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

// fullRecord is a record with a value in each field: its number and 100.
func fullRecord() *tcp.Radio {
	r := &tcp.Radio{
		TimeNs: testStartNs, Kind: tcp.RadioStation, Interface: "wlan0", Station: "02:00:00:00:00:01", SSID: "a,b",
		NetNS:     77,
		Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")},
	}
	for _, f := range tcp.RadioFields() {
		r.Values[f] = int64(f) + 100
	}
	return r
}

// exported is the text of an export of records about radios.
func exported(t *testing.T, format Format, records ...*tcp.Radio) string {
	t.Helper()
	var out bytes.Buffer
	o := Options{Stdout: &out}
	if format == CSV {
		o.Table = Radio
	}
	x, err := New(format, "-", testMeta, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := x.Radio(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestEachValueOfTheRadioHasAColumn(t *testing.T) {
	empty := &tcp.Radio{TimeNs: testStartNs, Kind: tcp.RadioScanStart, Interface: "wlan0", Values: tcp.NoRadioValues()}
	lines := strings.Split(exported(t, CSV, fullRecord(), empty), "\n")
	header := strings.Split(lines[0], ",")
	row := strings.Split(strings.Replace(lines[1], `"a,b"`, "a;b", 1), ",")
	if len(header) != len(row) {
		t.Fatalf("%d columns and %d cells:\n%s", len(header), len(row), strings.Join(lines, "\n"))
	}
	cells := map[string]string{}
	for i, name := range header {
		cells[name] = row[i]
	}
	for _, f := range tcp.RadioFields() {
		if want := formatInt(int64(f) + 100); cells[f.String()] != want {
			t.Errorf("%s is %q, want %s", f, cells[f.String()], want)
		}
	}
	if cells["addresses"] != "192.0.2.1 2001:db8::1" || cells["kind"] != "station" || cells["ssid"] != "a;b" ||
		cells["netns"] != "77" {
		t.Errorf("%v", cells)
	}
	if !strings.HasSuffix(lines[2], strings.Repeat(",", int(tcp.NumRadioFields))) {
		t.Errorf("absent values are not empty: %s", lines[2])
	}
}

func TestTheRadioInJSONLines(t *testing.T) {
	text := exported(t, JSONLines, fullRecord())
	for _, want := range []string{
		`"type":"radio"`, `"netns":77`, `"kind":"station"`, `"tx_retries":107`, `"ssid":"a,b"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in %s", want, text)
		}
	}
}
