package export

import (
	"reflect"
	"strings"

	"airtide/internal/tcp"
)

// radioRow is a record about a radio as a row. The tags of its values are the names of the fields.
type radioRow struct {
	Type      string  `json:"type" parquet:"-"`
	TimeNs    int64   `json:"time_ns" parquet:"time_ns,delta"`
	Time      *int64  `json:"-" parquet:"time,timestamp(nanosecond)"`
	TimeText  string  `json:"time,omitempty" parquet:"-"`
	Kind      string  `json:"kind" parquet:"kind,dict"`
	Interface string  `json:"interface" parquet:"interface,dict"`
	NetNS     *int64  `json:"netns,omitempty" parquet:"netns"`
	Station   *string `json:"station,omitempty" parquet:"station,dict"`
	SSID      *string `json:"ssid,omitempty" parquet:"ssid,dict"`
	Addresses *string `json:"addresses,omitempty" parquet:"addresses,dict"`

	TID              *int64 `json:"tid,omitempty" parquet:"tid"`
	TxRateBps        *int64 `json:"tx_rate_bps,omitempty" parquet:"tx_rate_bps"`
	RxRateBps        *int64 `json:"rx_rate_bps,omitempty" parquet:"rx_rate_bps"`
	TxPackets        *int64 `json:"tx_packets,omitempty" parquet:"tx_packets"`
	RxPackets        *int64 `json:"rx_packets,omitempty" parquet:"rx_packets"`
	TxBytes          *int64 `json:"tx_bytes,omitempty" parquet:"tx_bytes"`
	RxBytes          *int64 `json:"rx_bytes,omitempty" parquet:"rx_bytes"`
	TxRetries        *int64 `json:"tx_retries,omitempty" parquet:"tx_retries"`
	TxFailed         *int64 `json:"tx_failed,omitempty" parquet:"tx_failed"`
	RxDropped        *int64 `json:"rx_dropped,omitempty" parquet:"rx_dropped"`
	SignalDbm        *int64 `json:"signal_dbm,omitempty" parquet:"signal_dbm"`
	SignalAverageDbm *int64 `json:"signal_average_dbm,omitempty" parquet:"signal_average_dbm"`
	AckSignalDbm     *int64 `json:"ack_signal_dbm,omitempty" parquet:"ack_signal_dbm"`
	BeaconLosses     *int64 `json:"beacon_losses,omitempty" parquet:"beacon_losses"`
	TxAirtimeUs      *int64 `json:"tx_airtime_us,omitempty" parquet:"tx_airtime_us"`
	RxAirtimeUs      *int64 `json:"rx_airtime_us,omitempty" parquet:"rx_airtime_us"`
	ExpectedBps      *int64 `json:"expected_bps,omitempty" parquet:"expected_bps"`
	InactiveMs       *int64 `json:"inactive_ms,omitempty" parquet:"inactive_ms"`
	QueueBytes       *int64 `json:"queue_bytes,omitempty" parquet:"queue_bytes"`
	QueuePackets     *int64 `json:"queue_packets,omitempty" parquet:"queue_packets"`
	QueueDrops       *int64 `json:"queue_drops,omitempty" parquet:"queue_drops"`
	FrequencyMHz     *int64 `json:"frequency_mhz,omitempty" parquet:"frequency_mhz"`
	ChannelMs        *int64 `json:"channel_ms,omitempty" parquet:"channel_ms"`
	BusyMs           *int64 `json:"busy_ms,omitempty" parquet:"busy_ms"`
	ChannelTxMs      *int64 `json:"channel_tx_ms,omitempty" parquet:"channel_tx_ms"`
	ChannelRxMs      *int64 `json:"channel_rx_ms,omitempty" parquet:"channel_rx_ms"`
	NoiseDbm         *int64 `json:"noise_dbm,omitempty" parquet:"noise_dbm"`
}

// radioColumns are the places of the values in a radioRow.
var radioColumns = func() (columns [tcp.NumRadioFields]int) {
	places := map[string]int{}
	for i, f := range reflect.VisibleFields(reflect.TypeFor[radioRow]()) {
		places[f.Tag.Get("parquet")] = i
	}
	for _, f := range tcp.RadioFields() {
		columns[f] = places[f.String()]
	}
	return columns
}()

func newRadioRow(r *tcp.Radio, meta *Meta) *radioRow {
	row := &radioRow{
		Type: "radio", TimeNs: r.TimeNs, Time: wallTime(meta, r.TimeNs), Kind: r.Kind.String(),
		Interface: r.Interface, NetNS: known(r.NetNS), Station: text(r.Station), SSID: text(r.SSID),
	}
	if len(r.Addresses) > 0 {
		var all []string
		for _, a := range r.Addresses {
			all = append(all, a.String())
		}
		row.Addresses = text(strings.Join(all, " "))
	}
	to := reflect.ValueOf(row).Elem()
	for f, v := range r.Values {
		if v != tcp.Absent {
			to.Field(radioColumns[f]).Set(reflect.ValueOf(&v))
		}
	}
	return row
}
