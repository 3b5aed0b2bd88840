package cwnd

import (
	"net/netip"
	"testing"

	"airtide/internal/kernel/congestion"
	"airtide/internal/kernel/congestion/kind"
	"airtide/internal/share/control"
)

func TestSettingOfABound(t *testing.T) {
	for _, c := range []struct {
		bound   control.SendBound
		want    setting
		bounded bool
	}{
		{control.SendBound{}, setting{}, false},
		{control.SendBound{Packets: 40}, setting{Bounds: congestion.Bounds{Upper: 40}}, true},
		{control.SendBound{Packets: 40, Least: 30}, setting{Bounds: congestion.Bounds{Upper: 40, Lower: 30}}, true},
		{control.SendBound{Packets: 40, Least: 50}, setting{Bounds: congestion.Bounds{Upper: 40, Lower: 40}}, true},
		{control.SendBound{Packets: 1, Least: 1}, setting{pause: true}, true},
		{
			control.SendBound{Packets: 2, Least: 1},
			setting{Bounds: congestion.Bounds{Upper: kind.MinBound, Lower: kind.MinBound}},
			true,
		},
	} {
		if got, bounded := settingOf(c.bound); got != c.want || bounded != c.bounded {
			t.Errorf("%+v: %+v, %v", c.bound, got, bounded)
		}
	}
}

func TestMappedAddressesAreTheSameFlow(t *testing.T) {
	at := netip.MustParseAddrPort
	plain := endsOf(at("10.0.0.1:40000"), at("192.0.2.7:443"))
	if mapped := endsOf(at("[::ffff:10.0.0.1]:40000"), at("[::ffff:192.0.2.7]:443")); mapped != plain {
		t.Errorf("%+v and %+v", mapped, plain)
	}
}
