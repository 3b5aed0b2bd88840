package message

import (
	"net/netip"
	"slices"
	"testing"

	"airtide/internal/share/cellkey"
)

func TestARestartedTerminalReplacesItsOldSession(t *testing.T) {
	k := cellkey.New()
	old := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, old, b, 0)
	a := newAgent(k, 3, 100*ms)
	a.at = old.at
	now := 200 * ms
	for ; tell(t, a, b, now) != Accepted; now += 200 * ms {
		tell(t, b, a, now)
		if now > 2*second {
			t.Fatal("the new session does not count after two seconds")
		}
	}
	peers := b.Peers(nil, now)
	if len(peers) != 1 || peers[0].Report.Session != a.Session() {
		t.Errorf("peers %+v", peers)
	}
	// The old session does not return while the new session is present.
	want(t, "the old session", tell(t, old, b, now), SourceTaken)
	if b.Peers(nil, now)[0].Report.Session != a.Session() {
		t.Error("the old session counts again")
	}
}

func TestAtMostOneTerminalCountsPerSource(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	twin := newAgent(k, 3, 0)
	b := newAgent(k, 2, 0)
	twin.at = a.at
	acquaint(t, a, b, 0)
	for now := int64(0); now < 60*second; now += 200 * ms {
		tell(t, b, twin, now)
		want(t, "the first", tell(t, a, b, now), Accepted)
		if reason := tell(t, twin, b, now); reason != SourceTaken && reason != Unconfirmed {
			t.Fatalf("the second agent on a machine: %v", reason)
		}
		if peers := b.Peers(nil, now); len(peers) != 1 || peers[0].Report.Session != a.Session() {
			t.Fatalf("peers %+v", peers)
		}
		tell(t, b, a, now)
	}
	// When the first ends, the other counts.
	now := 62 * second
	tell(t, b, twin, now)
	tell(t, twin, b, now)
	want(t, "the second alone", tell(t, twin, b, now), Accepted)
}

func TestRepeatedReportsDoNotMoveAPeer(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	c := newAgent(k, 3, 0)
	acquaint(t, a, b, 0)
	acquaint(t, c, b, 0)
	// Another sender repeats a report from its own address or from that of another terminal, even
	// before the original arrives.
	for _, from := range []netip.AddrPort{address(66), c.at} {
		d := a.send(t, 0)
		_, reason := b.Receive(from, d, 0)
		want(t, "passed on", reason, Moved)
		_, reason = b.Receive(a.at, d, 0)
		want(t, "the original", reason, Accepted)
	}
	if n := len(b.Peers(nil, 0)); n != 2 {
		t.Errorf("%d peers", n)
	}
	// A terminal with a new address counts there once it is silent at the old address.
	a.at = address(99)
	want(t, "at once", tell(t, a, b, 100*ms), Moved)
	want(t, "later", tell(t, a, b, 3*second), Accepted)
	if !slices.ContainsFunc(b.Peers(nil, 3*second), func(p Peer) bool { return p.Source == a.at }) {
		t.Error("it is not found at its new address")
	}
}

func TestMappedAddressesAreTheSameSource(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	mapped := netip.AddrPortFrom(netip.AddrFrom16(a.at.Addr().As16()), 0)
	_, reason := b.Receive(mapped, a.send(t, 0), 0)
	want(t, "by an IPv6 socket", reason, Accepted)
}
