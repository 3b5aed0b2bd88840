package nl80211

import (
	"fmt"
	"net"
	"strings"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
)

// Role is the role of an interface.
type Role uint32

// The roles that matter here. The numbers are those of enum nl80211_iftype.
const (
	RoleStation     Role = unix.NL80211_IFTYPE_STATION
	RoleAccessPoint Role = unix.NL80211_IFTYPE_AP
	RoleP2PClient   Role = unix.NL80211_IFTYPE_P2P_CLIENT
)

func (r Role) String() string {
	names := [...]string{
		"unspecified", "ad hoc", "station", "access point", "VLAN of an access point", "WDS", "monitor", "mesh point",
		"P2P client", "P2P group owner", "P2P device", "OCB", "NAN",
	}
	if int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("role %d", r)
}

// Interface is a Wi-Fi interface.
type Interface struct {
	Index        int
	Name         string
	Role         Role
	SSID         string // text from outside
	FrequencyMHz int    // 0: unknown
}

// Generation is the 802.11 generation of a rate.
type Generation uint8

// The generations.
const (
	Legacy Generation = iota // 802.11a, b and g: no aggregates
	HT                       // 802.11n
	VHT                      // 802.11ac
	HE                       // 802.11ax
	EHT                      // 802.11be
)

// Rate is a PHY rate.
type Rate struct {
	Bps        int64
	Generation Generation
	Streams    int // 0: unknown
}

// known is the rate, or Absent.
func (r Rate) known() int64 {
	if r.Bps == 0 {
		return tcp.Absent
	}
	return r.Bps
}

// Station is the link to another radio.
type Station struct {
	Address net.HardwareAddr
	TxRate  Rate
	Values  tcp.RadioValues
	// TIDs are the values of each traffic identifier that carried something.
	TIDs []tcp.RadioValues
}

// Survey tells about a channel.
type Survey struct {
	InUse  bool
	Values tcp.RadioValues
}

// Event is something that happened to an interface.
type Event struct {
	Kind    tcp.RadioKind
	Index   int
	Station net.HardwareAddr // the access point of RadioConnect and RadioRoam
	MHz     int              // 0: unknown
	failed  bool             // the access point refused
}

// walk calls each attribute of a message or of a nest.
func walk(b []byte, each func(kind uint16, data []byte)) error {
	d, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return fmt.Errorf("reading an answer of nl80211: %w", err)
	}
	for d.Next() {
		each(d.Type(), d.Bytes())
	}
	if err := d.Err(); err != nil {
		return fmt.Errorf("reading an answer of nl80211: %w", err)
	}
	return nil
}

// text is a string of the kernel, without the zero at its end.
func text(b []byte) string { return strings.TrimRight(string(b), "\x00") }

func parseInterface(b []byte) (i Interface, err error) {
	err = walk(b, func(kind uint16, data []byte) {
		n, _ := unsigned(data)
		switch kind {
		case unix.NL80211_ATTR_IFINDEX:
			i.Index = int(n)
		case unix.NL80211_ATTR_IFNAME:
			i.Name = text(data)
		case unix.NL80211_ATTR_IFTYPE:
			i.Role = Role(n)
		case unix.NL80211_ATTR_SSID:
			i.SSID = string(data)
		case unix.NL80211_ATTR_WIPHY_FREQ:
			i.FrequencyMHz = int(n)
		}
	})
	return i, err
}

// value is the place of an attribute.
type value struct {
	field  tcp.RadioField
	factor int64
	signed bool // a signed byte
}

var stationValues = map[uint16]value{
	unix.NL80211_STA_INFO_TX_PACKETS:          {tcp.RadioTxPackets, 1, false},
	unix.NL80211_STA_INFO_RX_PACKETS:          {tcp.RadioRxPackets, 1, false},
	unix.NL80211_STA_INFO_TX_BYTES64:          {tcp.RadioTxBytes, 1, false},
	unix.NL80211_STA_INFO_RX_BYTES64:          {tcp.RadioRxBytes, 1, false},
	unix.NL80211_STA_INFO_TX_RETRIES:          {tcp.RadioTxRetries, 1, false},
	unix.NL80211_STA_INFO_TX_FAILED:           {tcp.RadioTxFailed, 1, false},
	unix.NL80211_STA_INFO_RX_DROP_MISC:        {tcp.RadioRxDropped, 1, false},
	unix.NL80211_STA_INFO_SIGNAL:              {tcp.RadioSignalDbm, 1, true},
	unix.NL80211_STA_INFO_SIGNAL_AVG:          {tcp.RadioSignalAverageDbm, 1, true},
	unix.NL80211_STA_INFO_ACK_SIGNAL:          {tcp.RadioAckSignalDbm, 1, true},
	unix.NL80211_STA_INFO_BEACON_LOSS:         {tcp.RadioBeaconLosses, 1, false},
	unix.NL80211_STA_INFO_TX_DURATION:         {tcp.RadioTxAirtimeUs, 1, false},
	unix.NL80211_STA_INFO_RX_DURATION:         {tcp.RadioRxAirtimeUs, 1, false},
	unix.NL80211_STA_INFO_EXPECTED_THROUGHPUT: {tcp.RadioExpectedBps, 1000, false},
	unix.NL80211_STA_INFO_INACTIVE_TIME:       {tcp.RadioInactiveMs, 1, false},
}

var tidValues = map[uint16]value{
	unix.NL80211_TID_STATS_RX_MSDU:         {tcp.RadioRxPackets, 1, false},
	unix.NL80211_TID_STATS_TX_MSDU:         {tcp.RadioTxPackets, 1, false},
	unix.NL80211_TID_STATS_TX_MSDU_RETRIES: {tcp.RadioTxRetries, 1, false},
	unix.NL80211_TID_STATS_TX_MSDU_FAILED:  {tcp.RadioTxFailed, 1, false},
}

var queueValues = map[uint16]value{
	unix.NL80211_TXQ_STATS_BACKLOG_BYTES:   {tcp.RadioQueueBytes, 1, false},
	unix.NL80211_TXQ_STATS_BACKLOG_PACKETS: {tcp.RadioQueuePackets, 1, false},
	unix.NL80211_TXQ_STATS_DROPS:           {tcp.RadioQueueDrops, 1, false},
}

var surveyValues = map[uint16]value{
	unix.NL80211_SURVEY_INFO_FREQUENCY: {tcp.RadioFrequencyMHz, 1, false},
	unix.NL80211_SURVEY_INFO_TIME:      {tcp.RadioChannelMs, 1, false},
	unix.NL80211_SURVEY_INFO_TIME_BUSY: {tcp.RadioBusyMs, 1, false},
	unix.NL80211_SURVEY_INFO_TIME_TX:   {tcp.RadioChannelTxMs, 1, false},
	unix.NL80211_SURVEY_INFO_TIME_RX:   {tcp.RadioChannelRxMs, 1, false},
	unix.NL80211_SURVEY_INFO_NOISE:     {tcp.RadioNoiseDbm, 1, true},
}

// put puts an attribute into its place. Counters of the kernel above 2^63 stay absent.
func put(v *tcp.RadioValues, places map[uint16]value, kind uint16, data []byte) {
	place, known := places[kind]
	n, ok := unsigned(data)
	if !known || !ok || n < 0 {
		return
	}
	if place.signed {
		n = int64(int8(n))
	}
	v[place.field] = n * place.factor
}

func parseStation(b []byte) (Station, error) {
	s := Station{Values: tcp.NoRadioValues()}
	var nested error
	err := walk(b, func(kind uint16, data []byte) {
		switch kind {
		case unix.NL80211_ATTR_MAC:
			s.Address = data
		case unix.NL80211_ATTR_STA_INFO:
			nested = s.parse(data)
		}
	})
	if err == nil {
		err = nested
	}
	return s, err
}

func (s *Station) parse(b []byte) error {
	var nested error
	err := walk(b, func(kind uint16, data []byte) {
		var err error
		switch kind {
		case unix.NL80211_STA_INFO_TX_BITRATE:
			s.TxRate, err = parseRate(data)
			s.Values[tcp.RadioTxRateBps] = s.TxRate.known()
		case unix.NL80211_STA_INFO_RX_BITRATE:
			var rate Rate
			rate, err = parseRate(data)
			s.Values[tcp.RadioRxRateBps] = rate.known()
		case unix.NL80211_STA_INFO_TID_STATS:
			err = s.parseTIDs(data)
		default:
			put(&s.Values, stationValues, kind, data)
		}
		if err != nil {
			nested = err
		}
	})
	if err == nil {
		err = nested
	}
	return err
}

// parseTIDs keeps the identifiers that carried something.
func (s *Station) parseTIDs(b []byte) error {
	var nested error
	err := walk(b, func(number uint16, data []byte) {
		v := tcp.NoRadioValues()
		v[tcp.RadioTIDNumber] = int64(number) - 1 // the kernel counts from 1
		used := false
		err := walk(data, func(kind uint16, data []byte) {
			if kind == unix.NL80211_TID_STATS_TXQ_STATS {
				if err := walk(data, func(kind uint16, data []byte) { put(&v, queueValues, kind, data) }); err != nil {
					nested = err
				}
				return
			}
			put(&v, tidValues, kind, data)
			n, _ := unsigned(data)
			used = used || n != 0
		})
		if err != nil {
			nested = err
		}
		if used {
			s.TIDs = append(s.TIDs, v)
		}
	})
	if err == nil {
		err = nested
	}
	return err
}

// rateUnit is the unit of the kernel's PHY rates in bit/s.
const rateUnit = 100_000

func parseRate(b []byte) (r Rate, err error) {
	short := int64(0) // the rate in 16 bits, for kernels without the one in 32
	err = walk(b, func(kind uint16, data []byte) {
		n, _ := unsigned(data)
		switch kind {
		case unix.NL80211_RATE_INFO_BITRATE32:
			r.Bps = n * rateUnit
		case unix.NL80211_RATE_INFO_BITRATE:
			short = n * rateUnit
		case unix.NL80211_RATE_INFO_MCS:
			r.Generation = HT
			r.Streams = int(n)/8 + 1
		case unix.NL80211_RATE_INFO_VHT_MCS:
			r.Generation = VHT
		case unix.NL80211_RATE_INFO_HE_MCS:
			r.Generation = HE
		case unix.NL80211_RATE_INFO_EHT_MCS:
			r.Generation = EHT
		case unix.NL80211_RATE_INFO_VHT_NSS, unix.NL80211_RATE_INFO_HE_NSS, unix.NL80211_RATE_INFO_EHT_NSS:
			r.Streams = int(n)
		}
	})
	if r.Bps == 0 {
		r.Bps = short
	}
	return r, err
}

func parseSurvey(b []byte) (Survey, error) {
	s := Survey{Values: tcp.NoRadioValues()}
	var nested error
	err := walk(b, func(kind uint16, data []byte) {
		if kind != unix.NL80211_ATTR_SURVEY_INFO {
			return
		}
		nested = walk(data, func(kind uint16, data []byte) {
			if kind == unix.NL80211_SURVEY_INFO_IN_USE {
				s.InUse = true
			}
			put(&s.Values, surveyValues, kind, data)
		})
	})
	if err == nil {
		err = nested
	}
	return s, err
}

var eventKinds = map[uint8]tcp.RadioKind{
	unix.NL80211_CMD_TRIGGER_SCAN:     tcp.RadioScanStart,
	unix.NL80211_CMD_NEW_SCAN_RESULTS: tcp.RadioScanEnd,
	unix.NL80211_CMD_SCAN_ABORTED:     tcp.RadioScanEnd,
	unix.NL80211_CMD_CONNECT:          tcp.RadioConnect,
	unix.NL80211_CMD_DISCONNECT:       tcp.RadioDisconnect,
	unix.NL80211_CMD_ROAM:             tcp.RadioRoam,
	unix.NL80211_CMD_CH_SWITCH_NOTIFY: tcp.RadioChannelSwitch,
}

// parseEvent reports false for messages that are none of the events, and for a connection that the
// access point refused.
func parseEvent(command uint8, b []byte) (e Event, known bool, err error) {
	e.Kind, known = eventKinds[command]
	if !known {
		return e, false, nil
	}
	err = walk(b, func(kind uint16, data []byte) {
		n, _ := unsigned(data)
		switch kind {
		case unix.NL80211_ATTR_IFINDEX:
			e.Index = int(n)
		case unix.NL80211_ATTR_MAC:
			e.Station = data
		case unix.NL80211_ATTR_WIPHY_FREQ:
			e.MHz = int(n)
		case unix.NL80211_ATTR_STATUS_CODE:
			e.failed = n != 0
		}
	})
	return e, e.Index > 0 && !(e.Kind == tcp.RadioConnect && e.failed), err
}
