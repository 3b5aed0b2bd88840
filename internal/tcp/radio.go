package tcp

import (
	"encoding/json"
	"fmt"
	"net/netip"
)

// RadioKind is the kind of a record about a Wi-Fi radio. Recordings contain the names.
type RadioKind uint8

// The kinds of records about radios. docs/reference/radio.md describes each.
const (
	RadioNone      RadioKind = iota // a kind of a newer version
	RadioInterface                  // an interface: its addresses, network and channel
	RadioStation                    // counters and rates of the link to a station
	RadioTID                        // counters of one traffic identifier of that link
	RadioChannel                    // times of the channel in use
	RadioScanStart                  // the first of the events
	RadioScanEnd                    // also of a scan that was aborted
	RadioConnect
	RadioDisconnect
	RadioRoam
	RadioChannelSwitch
)

var radioKindNames = []string{
	RadioNone: "none", RadioInterface: "interface", RadioStation: "station", RadioTID: "tid",
	RadioChannel: "channel", RadioScanStart: "scan_start", RadioScanEnd: "scan_end", RadioConnect: "connect",
	RadioDisconnect: "disconnect", RadioRoam: "roam", RadioChannelSwitch: "channel_switch",
}

func (k RadioKind) String() string { return nameOf(radioKindNames, int(k), "radio") }

// MarshalText lets a RadioKind stand in JSON by name.
func (k RadioKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is the inverse of MarshalText. An unknown name becomes RadioNone.
func (k *RadioKind) UnmarshalText(text []byte) error {
	i, err := numberOf(radioKindNames, "radio record", string(text))
	if err != nil {
		i = int(RadioNone)
	}
	*k = RadioKind(i)
	return nil
}

// IsEvent reports whether the record is something that happened, and no state.
func (k RadioKind) IsEvent() bool { return k >= RadioScanStart }

// RadioField numbers the values of a record about a radio. Recordings contain the names.
type RadioField uint8

// The values of records about radios. radioFields describes each.
const (
	RadioTIDNumber RadioField = iota
	RadioTxRateBps
	RadioRxRateBps
	RadioTxPackets
	RadioRxPackets
	RadioTxBytes
	RadioRxBytes
	RadioTxRetries
	RadioTxFailed
	RadioRxDropped
	RadioSignalDbm
	RadioSignalAverageDbm
	RadioAckSignalDbm
	RadioBeaconLosses
	RadioTxAirtimeUs
	RadioRxAirtimeUs
	RadioExpectedBps
	RadioInactiveMs
	RadioQueueBytes
	RadioQueuePackets
	RadioQueueDrops
	RadioFrequencyMHz
	RadioChannelMs
	RadioBusyMs
	RadioChannelTxMs
	RadioChannelRxMs
	RadioNoiseDbm
	NumRadioFields
)

// RadioFieldInfo describes a value.
type RadioFieldInfo struct {
	Name string // snake case with its unit
	Kind Kind
	Doc  string
	// Source is the attribute of nl80211.
	Source string
}

var radioFields = [NumRadioFields]RadioFieldInfo{
	RadioTIDNumber: {"tid", Enum, "traffic identifier; 16: frames without QoS", "STA_INFO_TID_STATS"},
	RadioTxRateBps: {"tx_rate_bps", Gauge, "PHY rate of the last data sent", "STA_INFO_TX_BITRATE"},
	RadioRxRateBps: {"rx_rate_bps", Gauge, "PHY rate of the last data received", "STA_INFO_RX_BITRATE"},
	RadioTxPackets: {"tx_packets", Counter, "packets sent", "STA_INFO_TX_PACKETS, TID_STATS_TX_MSDU"},
	RadioRxPackets: {"rx_packets", Counter, "packets received", "STA_INFO_RX_PACKETS, TID_STATS_RX_MSDU"},
	RadioTxBytes:   {"tx_bytes", Counter, "bytes sent", "STA_INFO_TX_BYTES64"},
	RadioRxBytes:   {"rx_bytes", Counter, "bytes received", "STA_INFO_RX_BYTES64"},
	RadioTxRetries: {
		"tx_retries", Counter, "transmissions that were repeated", "STA_INFO_TX_RETRIES, TID_STATS_TX_MSDU_RETRIES",
	},
	RadioTxFailed: {
		"tx_failed", Counter, "packets given up after all retries", "STA_INFO_TX_FAILED, TID_STATS_TX_MSDU_FAILED",
	},
	RadioRxDropped:        {"rx_dropped", Counter, "received packets that were dropped", "STA_INFO_RX_DROP_MISC"},
	RadioSignalDbm:        {"signal_dbm", Gauge, "signal of the last frame", "STA_INFO_SIGNAL"},
	RadioSignalAverageDbm: {"signal_average_dbm", Gauge, "average signal", "STA_INFO_SIGNAL_AVG"},
	RadioAckSignalDbm:     {"ack_signal_dbm", Gauge, "signal of the last acknowledgement", "STA_INFO_ACK_SIGNAL"},
	RadioBeaconLosses:     {"beacon_losses", Counter, "times that beacons failed to appear", "STA_INFO_BEACON_LOSS"},
	RadioTxAirtimeUs:      {"tx_airtime_us", Counter, "airtime of sending", "STA_INFO_TX_DURATION"},
	RadioRxAirtimeUs:      {"rx_airtime_us", Counter, "airtime of receiving", "STA_INFO_RX_DURATION"},
	RadioExpectedBps: {
		"expected_bps", Gauge, "throughput that the driver expects", "STA_INFO_EXPECTED_THROUGHPUT",
	},
	RadioInactiveMs:   {"inactive_ms", Gauge, "time since the last activity", "STA_INFO_INACTIVE_TIME"},
	RadioQueueBytes:   {"queue_bytes", Gauge, "bytes in mac80211's queue", "TXQ_STATS_BACKLOG_BYTES"},
	RadioQueuePackets: {"queue_packets", Gauge, "packets in mac80211's queue", "TXQ_STATS_BACKLOG_PACKETS"},
	RadioQueueDrops:   {"queue_drops", Counter, "packets that mac80211's queue dropped", "TXQ_STATS_DROPS"},
	RadioFrequencyMHz: {"frequency_mhz", Gauge, "frequency of the channel", "WIPHY_FREQ, SURVEY_INFO_FREQUENCY"},
	RadioChannelMs:    {"channel_ms", Counter, "time on the channel", "SURVEY_INFO_TIME"},
	RadioBusyMs:       {"busy_ms", Counter, "part of it in which the channel was busy", "SURVEY_INFO_TIME_BUSY"},
	RadioChannelTxMs:  {"channel_tx_ms", Counter, "part of it in which this radio sent", "SURVEY_INFO_TIME_TX"},
	RadioChannelRxMs:  {"channel_rx_ms", Counter, "part of it in which this radio received", "SURVEY_INFO_TIME_RX"},
	RadioNoiseDbm:     {"noise_dbm", Gauge, "noise of the channel", "SURVEY_INFO_NOISE"},
}

// RadioFields lists all values.
func RadioFields() []RadioField {
	all := make([]RadioField, NumRadioFields)
	for f := range all {
		all[f] = RadioField(f)
	}
	return all
}

// Info describes the value.
func (f RadioField) Info() RadioFieldInfo { return radioFields[f] }

func (f RadioField) String() string {
	if f < NumRadioFields {
		return radioFields[f].Name
	}
	return fmt.Sprintf("radio_field_%d", f)
}

var radioFieldByName = func() map[string]RadioField {
	m := map[string]RadioField{}
	for _, f := range RadioFields() {
		m[f.String()] = f
	}
	return m
}()

// RadioValues are the values of a record about a radio. A value that the driver does not tell is
// Absent.
type RadioValues [NumRadioFields]int64

// NoRadioValues returns values that are all absent.
func NoRadioValues() (v RadioValues) {
	for f := range v {
		v[f] = Absent
	}
	return v
}

// MarshalJSON writes the values that are there by name.
func (v RadioValues) MarshalJSON() ([]byte, error) {
	present := map[string]int64{}
	for f, n := range v {
		if n != Absent {
			present[RadioField(f).String()] = n
		}
	}
	return json.Marshal(present)
}

// UnmarshalJSON is the inverse of MarshalJSON. It passes over unknown names.
func (v *RadioValues) UnmarshalJSON(text []byte) error {
	*v = NoRadioValues()
	var present map[string]json.Number
	if err := json.Unmarshal(text, &present); err != nil {
		return err
	}
	for name, n := range present {
		f, known := radioFieldByName[name]
		if !known {
			continue
		}
		value, err := n.Int64()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		v[f] = value
	}
	return nil
}

// Radio is a record about a Wi-Fi radio of the observed host: its state at a time, or an event.
type Radio struct {
	TimeNs int64     `json:"time_ns"`
	Kind   RadioKind `json:"kind"`
	// Interface is the name of the interface.
	Interface string `json:"interface"`
	// NetNS is the inode number of the interface's network namespace, as in Flow; 0 if it is
	// unknown.
	NetNS uint32 `json:"netns,omitempty"`
	// Station is the address of the other end, "" if the record is about no link.
	Station string `json:"station,omitempty"`
	// SSID is the network's name, text from outside.
	SSID string `json:"ssid,omitempty"`
	// Addresses are the IP addresses of an interface; only with RadioInterface.
	Addresses []netip.Addr `json:"addresses,omitempty"`
	Values    RadioValues  `json:"values"`
}

// RadioID names an interface of the host among all its network namespaces.
type RadioID struct {
	NetNS     uint32
	Interface string
}

// ID is the name of the record's interface.
func (r *Radio) ID() RadioID { return RadioID{r.NetNS, r.Interface} }

// Has reports whether a value is there.
func (r *Radio) Has(f RadioField) bool { return r.Values[f] != Absent }

// Growth is the growth of a counter since an earlier record of the same link or channel. It is 0 if
// one of its values is missing, or after the driver set it back.
func (r *Radio) Growth(since *Radio, f RadioField) int64 {
	if !r.Has(f) || !since.Has(f) {
		return 0
	}
	return max(0, r.Values[f]-since.Values[f])
}

// ChannelGrowth is the growth of the time on a channel and of its busy part since an earlier
// record. ok is false if that record is of no channel or of another one, or if the driver tells no
// busy time.
func (r *Radio) ChannelGrowth(since *Radio) (timeMs, busyMs int64, ok bool) {
	same := since.Kind == RadioChannel && since.Values[RadioFrequencyMHz] == r.Values[RadioFrequencyMHz]
	if !same || !r.Has(RadioBusyMs) {
		return 0, 0, false
	}
	timeMs = r.Growth(since, RadioChannelMs)
	return timeMs, min(timeMs, r.Growth(since, RadioBusyMs)), true
}
