package nl80211

import (
	"testing"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
)

// message encodes attributes.
func message(t testing.TB, attributes func(*netlink.AttributeEncoder)) []byte {
	t.Helper()
	e := netlink.NewAttributeEncoder()
	attributes(e)
	b, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// nested adds a nest of attributes.
func nested(e *netlink.AttributeEncoder, kind uint16, attributes func(*netlink.AttributeEncoder)) {
	e.Nested(kind, func(e *netlink.AttributeEncoder) error {
		attributes(e)
		return nil
	})
}

// stationMessage is an answer as mac80211 gives it.
func stationMessage(t testing.TB) []byte {
	return message(t, func(e *netlink.AttributeEncoder) {
		e.Uint32(unix.NL80211_ATTR_IFINDEX, 3)
		e.Bytes(unix.NL80211_ATTR_MAC, []byte{2, 0, 0, 0, 0, 1})
		nested(e, unix.NL80211_ATTR_STA_INFO, func(e *netlink.AttributeEncoder) {
			e.Uint32(unix.NL80211_STA_INFO_TX_BYTES, 1) // the old counter of 32 bits
			e.Uint64(unix.NL80211_STA_INFO_TX_BYTES64, 1<<40)
			e.Uint32(unix.NL80211_STA_INFO_TX_PACKETS, 1000)
			e.Uint32(unix.NL80211_STA_INFO_TX_RETRIES, 50)
			e.Int8(unix.NL80211_STA_INFO_SIGNAL, -61)
			e.Uint32(unix.NL80211_STA_INFO_EXPECTED_THROUGHPUT, 20_000)
			e.Uint64(unix.NL80211_STA_INFO_RX_DURATION, 1<<63) // more than a signed number holds
			nested(e, unix.NL80211_STA_INFO_TX_BITRATE, func(e *netlink.AttributeEncoder) {
				e.Uint16(unix.NL80211_RATE_INFO_BITRATE, 8667)
				e.Uint32(unix.NL80211_RATE_INFO_BITRATE32, 8667)
				e.Uint8(unix.NL80211_RATE_INFO_VHT_MCS, 9)
				e.Uint8(unix.NL80211_RATE_INFO_VHT_NSS, 2)
			})
			nested(e, unix.NL80211_STA_INFO_RX_BITRATE, func(e *netlink.AttributeEncoder) {
				e.Uint16(unix.NL80211_RATE_INFO_BITRATE, 540)
			})
			nested(e, unix.NL80211_STA_INFO_TID_STATS, func(e *netlink.AttributeEncoder) {
				for tid, packets := range []uint64{900, 0} {
					nested(e, uint16(tid+1), func(e *netlink.AttributeEncoder) {
						e.Uint64(unix.NL80211_TID_STATS_TX_MSDU, packets)
						nested(e, unix.NL80211_TID_STATS_TXQ_STATS, func(e *netlink.AttributeEncoder) {
							e.Uint32(unix.NL80211_TXQ_STATS_BACKLOG_PACKETS, 7)
						})
					})
				}
			})
		})
	})
}

func TestAStationIsParsed(t *testing.T) {
	s, err := parseStation(stationMessage(t))
	if err != nil {
		t.Fatal(err)
	}
	if s.Address.String() != "02:00:00:00:00:01" {
		t.Errorf("its address is %s", s.Address)
	}
	if want := (Rate{866_700_000, VHT, 2}); s.TxRate != want {
		t.Errorf("its rate is %+v, want %+v", s.TxRate, want)
	}
	want := tcp.NoRadioValues()
	want[tcp.RadioTxBytes] = 1 << 40
	want[tcp.RadioTxPackets] = 1000
	want[tcp.RadioTxRetries] = 50
	want[tcp.RadioSignalDbm] = -61
	want[tcp.RadioExpectedBps] = 20_000_000
	want[tcp.RadioTxRateBps] = 866_700_000
	want[tcp.RadioRxRateBps] = 54_000_000
	if s.Values != want {
		t.Errorf("got %v\nwant %v", s.Values, want)
	}
	if len(s.TIDs) != 1 || s.TIDs[0][tcp.RadioTIDNumber] != 0 || s.TIDs[0][tcp.RadioTxPackets] != 900 ||
		s.TIDs[0][tcp.RadioQueuePackets] != 7 {
		t.Errorf("traffic identifiers: %v", s.TIDs)
	}
}

func TestRates(t *testing.T) {
	for _, c := range []struct {
		mcs, streams uint16
		index        uint8
		want         Rate
	}{
		{unix.NL80211_RATE_INFO_MCS, 0, 15, Rate{100_000, HT, 2}},
		{unix.NL80211_RATE_INFO_HE_MCS, unix.NL80211_RATE_INFO_HE_NSS, 11, Rate{100_000, HE, 4}},
		{unix.NL80211_RATE_INFO_EHT_MCS, unix.NL80211_RATE_INFO_EHT_NSS, 13, Rate{100_000, EHT, 4}},
	} {
		got, err := parseRate(message(t, func(e *netlink.AttributeEncoder) {
			e.Uint16(unix.NL80211_RATE_INFO_BITRATE, 1)
			e.Uint8(c.mcs, c.index)
			if c.streams != 0 {
				e.Uint8(c.streams, 4)
			}
		}))
		if err != nil || got != c.want {
			t.Errorf("got %+v, %v, want %+v", got, err, c.want)
		}
	}
}

func surveyMessage(t testing.TB) []byte {
	return message(t, func(e *netlink.AttributeEncoder) {
		nested(e, unix.NL80211_ATTR_SURVEY_INFO, func(e *netlink.AttributeEncoder) {
			e.Uint32(unix.NL80211_SURVEY_INFO_FREQUENCY, 5180)
			e.Flag(unix.NL80211_SURVEY_INFO_IN_USE, true)
			e.Uint64(unix.NL80211_SURVEY_INFO_TIME, 1000)
			e.Uint64(unix.NL80211_SURVEY_INFO_TIME_BUSY, 300)
			e.Int8(unix.NL80211_SURVEY_INFO_NOISE, -92)
		})
	})
}

func TestAChannelIsParsed(t *testing.T) {
	s, err := parseSurvey(surveyMessage(t))
	want := tcp.NoRadioValues()
	want[tcp.RadioFrequencyMHz] = 5180
	want[tcp.RadioChannelMs] = 1000
	want[tcp.RadioBusyMs] = 300
	want[tcp.RadioNoiseDbm] = -92
	if err != nil || !s.InUse || s.Values != want {
		t.Errorf("got %+v, %v, want %v", s, err, want)
	}
}

func TestEventsAreParsed(t *testing.T) {
	for _, c := range []struct {
		command uint8
		status  uint16
		want    tcp.RadioKind // RadioNone: no event
	}{
		{unix.NL80211_CMD_TRIGGER_SCAN, 0, tcp.RadioScanStart},
		{unix.NL80211_CMD_NEW_SCAN_RESULTS, 0, tcp.RadioScanEnd},
		{unix.NL80211_CMD_SCAN_ABORTED, 0, tcp.RadioScanEnd},
		{unix.NL80211_CMD_ROAM, 0, tcp.RadioRoam},
		{unix.NL80211_CMD_DISCONNECT, 0, tcp.RadioDisconnect},
		{unix.NL80211_CMD_CONNECT, 0, tcp.RadioConnect},
		{unix.NL80211_CMD_CONNECT, 17, tcp.RadioNone}, // the access point refused
		{unix.NL80211_CMD_NEW_STATION, 0, tcp.RadioNone},
	} {
		e, known, err := parseEvent(c.command, message(t, func(e *netlink.AttributeEncoder) {
			e.Uint32(unix.NL80211_ATTR_IFINDEX, 3)
			e.Bytes(unix.NL80211_ATTR_MAC, []byte{2, 0, 0, 0, 0, 1})
			if c.status != 0 {
				e.Uint16(unix.NL80211_ATTR_STATUS_CODE, c.status)
			}
		}))
		if err != nil || known != (c.want != tcp.RadioNone) || known && (e.Kind != c.want || e.Index != 3) {
			t.Errorf("command %d with status %d: %+v, %v, %v", c.command, c.status, e, known, err)
		}
	}
}

func TestAnInterfaceIsParsed(t *testing.T) {
	i, err := parseInterface(message(t, func(e *netlink.AttributeEncoder) {
		e.Uint32(unix.NL80211_ATTR_IFINDEX, 3)
		e.String(unix.NL80211_ATTR_IFNAME, "wlan0")
		e.Uint32(unix.NL80211_ATTR_IFTYPE, unix.NL80211_IFTYPE_STATION)
		e.Bytes(unix.NL80211_ATTR_SSID, []byte("cell"))
		e.Uint32(unix.NL80211_ATTR_WIPHY_FREQ, 2412)
	}))
	if want := (Interface{3, "wlan0", RoleStation, "cell", 2412}); err != nil || i != want {
		t.Errorf("got %+v, %v, want %+v", i, err, want)
	}
	if RoleStation.String() != "station" || Role(99).String() != "role 99" {
		t.Errorf("roles are named %q and %q", RoleStation, Role(99))
	}
}

func FuzzParse(f *testing.F) {
	f.Add(stationMessage(f))
	f.Add(surveyMessage(f))
	f.Add([]byte{4, 0, 21, 0, 5, 0, 1, 0, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = parseInterface(b)
		_, _ = parseSurvey(b)
		_, _, _ = parseEvent(unix.NL80211_CMD_CONNECT, b)
		s, err := parseStation(b)
		if err == nil && (len(s.TIDs) > len(b) || s.TxRate.Bps < 0) {
			t.Errorf("%d identifiers, rate %d", len(s.TIDs), s.TxRate.Bps)
		}
	})
}
