package message

import (
	"net/netip"
	"testing"

	"airtide/internal/share/cellkey"
)

// address6 returns an agent's IPv6 address.
func address6(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16([16]byte{0xfe, 0x80, 15: byte(i)}), 0)
}

// hears is the set of IP versions of a terminal.
type hears struct{ four, six bool }

// Terminals send over their versions of IP until their choice no longer changes.
func TestMulticastUsesOneFamilyIfItReachesAll(t *testing.T) {
	four := hears{true, false}
	six := hears{false, true}
	both := hears{true, true}
	for what, c := range map[string]struct {
		own    hears
		others []hears
		want   hears
	}{
		"alone":                            {both, nil, both},
		"all hear both":                    {both, []hears{both, both}, four},
		"one hears IPv4 alone":             {both, []hears{both, four}, four},
		"one hears IPv6 alone":             {both, []hears{both, six, both}, six},
		"one hears IPv4, another one IPv6": {both, []hears{four, six, both}, both},
		"it hears IPv6 alone":              {six, []hears{both, both}, six},
	} {
		k := cellkey.New()
		has := append([]hears{c.own}, c.others...)
		var all []*agent
		for i, h := range has {
			a := newAgent(k, i+1, 0)
			a.says.BothFamilies = h == both
			all = append(all, a)
		}
		now := int64(0)
		for range 20 {
			now += 500 * ms
			for i, a := range all {
				to4, to6 := a.Families(now)
				d := a.send(t, now)
				for j, b := range all {
					// Datagrams over IPv4 go first.
					if i != j && to4 && has[i].four && has[j].four {
						b.Receive(address(i+1), d, now)
					}
					if i != j && to6 && has[i].six && has[j].six {
						b.Receive(address6(i+1), d, now)
					}
				}
			}
		}
		if to4, to6 := all[0].Families(now); (hears{to4, to6}) != c.want {
			t.Errorf("%s: IPv4 %v, IPv6 %v, want %+v", what, to4, to6, c.want)
		}
		for i, a := range all {
			reached := 0
			for j := range all {
				if j != i && (has[i].four && has[j].four || has[i].six && has[j].six) {
					reached++
				}
			}
			if n := len(a.Peers(nil, now)); n != reached {
				t.Errorf("%s: number %d counts %d peers, and can hear %d", what, i, n, reached)
			}
		}
	}
}

// The reports of a terminal with both families count over both, but it is one terminal.
func TestAddressesOfBothFamiliesAreOneTerminal(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	_, reason := b.Receive(address6(1), a.send(t, 0), 0)
	want(t, "over IPv6, of one that hears IPv4 alone", reason, Moved)
	a.says.BothFamilies = true
	want(t, "over IPv4", tell(t, a, b, 0), Accepted)
	_, reason = b.Receive(address6(1), a.send(t, 0), 0)
	want(t, "over IPv6", reason, Accepted)
	_, reason = b.Receive(address6(9), a.send(t, 0), 0)
	want(t, "over IPv6 from elsewhere", reason, Moved)
	want(t, "over IPv4 again", tell(t, a, b, 0), Accepted)
	if peers := b.Peers(nil, 0); len(peers) != 1 || peers[0].Source != a.at {
		t.Errorf("peers %+v", peers)
	}
	bounded(t, b.Receiver)
}

// A terminal whose address changes sends its last report from the new address.
func TestALeavingReportCountsFromANewAddress(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	a.at = address(99)
	want(t, "a report from there", tell(t, a, b, 0), Moved)
	a.says.State = Leaving
	want(t, "its good-bye", tell(t, a, b, 0), Accepted)
	if n := len(b.Peers(nil, 0)); n != 0 {
		t.Errorf("%d peers", n)
	}
}

func TestMeanGapDoesNotCountTerminalsElsewhere(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	c := newAgent(k, 3, 0)
	acquaint(t, a, b, 0)
	acquaint(t, a, c, 0)
	if all, one := a.MeanGapNs(0), a.MeanGapNs(1); one < 2*all-1 || a.MeanGapNs(2) != 0 {
		t.Errorf("a pause of %d ms of two, %d of one, %d of none", all/ms, one/ms, a.MeanGapNs(2)/ms)
	}
}
