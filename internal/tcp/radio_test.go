package tcp

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"
)

func TestRadioRecordsSurviveJSON(t *testing.T) {
	want := Radio{
		TimeNs: 5, Kind: RadioRoam, Interface: "wlan0", Station: "02:00:00:00:00:01", SSID: "ce\x1bll",
		Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, Values: NoRadioValues(),
	}
	want.Values[RadioSignalDbm] = -60
	want.Values[RadioTxPackets] = 0
	text, err := json.Marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	var got Radio
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n got %+v, %v\nwant %+v", text, got, err, want)
	}
}

// A recording of a newer version may have other kinds and values.
func TestUnknownPartsOfARadioRecordArePassedOver(t *testing.T) {
	var got Radio
	err := json.Unmarshal([]byte(`{"kind":"of tomorrow","values":{"tx_packets":3,"of_tomorrow":4}}`), &got)
	if err != nil || got.Kind != RadioNone || got.Values[RadioTxPackets] != 3 || got.Has(RadioTxRetries) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"values":{"tx_packets":1e99}}`), &got); err == nil {
		t.Errorf("a value that is no number of 64 bits is %d", got.Values[RadioTxPackets])
	}
}

func TestRadioValuesAreDescribed(t *testing.T) {
	names := map[string]bool{}
	for _, f := range RadioFields() {
		i := f.Info()
		if i.Name == "" || i.Doc == "" || i.Source == "" || names[i.Name] {
			t.Errorf("value %d is not described, or its name is not its own: %+v", f, i)
		}
		names[i.Name] = true
	}
}
