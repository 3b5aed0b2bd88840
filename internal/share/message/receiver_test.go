package message

import (
	"bytes"
	"slices"
	"testing"

	"airtide/internal/share/cellkey"
)

func TestAPeerCountsAfterItsFirstAnswer(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	want(t, "a, whom b does not know", tell(t, a, b, 0), Unconfirmed)
	if peers := b.Peers(nil, 0); len(peers) != 0 {
		t.Errorf("b counts %d peers before any has answered", len(peers))
	}
	want(t, "b, who answers a", tell(t, b, a, 0), Accepted)
	want(t, "a, who answers b", tell(t, a, b, 0), Accepted)
	for _, x := range []*agent{a, b} {
		peers := x.Peers(nil, 0)
		if len(peers) != 1 || x.Terminals(0) != 2 {
			t.Fatalf("%d peers of %d terminals", len(peers), x.Terminals(0))
		}
		other := map[*agent]*agent{a: b, b: a}[x]
		p := peers[0]
		if p.Source != other.at || p.Report.Session != other.Session() || p.Report.FlowsUp != other.says.FlowsUp {
			t.Errorf("peer %+v", p)
		}
	}
}

func TestOwnReportsAreIgnored(t *testing.T) {
	a := newAgent(cellkey.New(), 1, 0)
	want(t, "own", tell(t, a, a, 0), Own)
}

func TestTwoCellsOnOneMediumDoNotMix(t *testing.T) {
	red := cellkey.New()
	blue := cellkey.New()
	r1 := newAgent(red, 1, 0)
	r2 := newAgent(red, 2, 0)
	b1 := newAgent(blue, 3, 0)
	b2 := newAgent(blue, 4, 0)
	for i := range int64(10) {
		for _, from := range []*agent{r1, r2, b1, b2} {
			d := from.send(t, i*200*ms)
			for _, to := range []*agent{r1, r2, b1, b2} {
				to.Receive(from.at, d, i*200*ms)
			}
		}
	}
	for _, x := range []*agent{r1, r2, b1, b2} {
		if n := len(x.Peers(nil, 2*second)); n != 1 {
			t.Errorf("%d peers", n)
		}
		if n := x.Counts()[OtherCell]; n != 20 {
			t.Errorf("%d datagrams of the other cell were counted, want 20", n)
		}
	}
}

func TestALeavingPeerIsGoneAtOnce(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	a.says.State = Leaving
	want(t, "good-bye", tell(t, a, b, 0), Accepted)
	if len(b.Peers(nil, 0)) != 0 || b.Terminals(0) != 1 {
		t.Error("the leaving peer still counts")
	}
	// A new session at its source counts as soon as it is confirmed.
	next := newAgent(k, 3, 0)
	next.at = a.at
	acquaint(t, next, b, 0)
}

func TestASilentPeerIsGoneAndComesBack(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	period := b.Peers(nil, 0)[0].Report.PeriodMs
	gone := int64(0)
	for ; len(b.Peers(nil, gone)) == 1; gone += 10 * ms {
		if gone > 10*second {
			t.Fatal("the silent peer stays for ever")
		}
	}
	if periods := float64(gone) / float64(int64(period)*ms); periods < 4 || periods > 8 {
		t.Errorf("gone after %.1f periods of %d ms", periods, period)
	}
	want(t, "after a pause", tell(t, a, b, gone), Accepted)
	if len(b.Peers(nil, gone)) != 1 {
		t.Error("the peer did not return")
	}
}

func TestPeersReturnAfterAClockJump(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	recorded := a.send(t, 0)
	const hour = 3600 * second
	if n := len(b.Peers(nil, hour)); n != 0 || len(b.sessions) != 0 {
		t.Errorf("an hour later: %d peers, %d sessions", n, len(b.sessions))
	}
	_, reason := b.Receive(a.at, recorded, hour)
	want(t, "what was recorded an hour ago", reason, Unconfirmed)
	// For a no time has passed.
	for i := range 4 {
		now := int64(i+1) * 200 * ms
		d := a.send(t, now)
		e := b.send(t, hour+now)
		a.Receive(b.at, e, now)
		b.Receive(a.at, d, hour+now)
	}
	if len(b.Peers(nil, hour+second)) != 1 || len(a.Peers(nil, second)) != 1 {
		t.Error("they did not find each other again within four reports")
	}
	// A time that goes back, against the contract, is taken for the latest one.
	want(t, "backwards", tell(t, a, b, 0), Accepted)
}

func TestImplausibleReportsChangeNothing(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	before := b.Peers(nil, 0)
	now := int64(0)
	for what, change := range beyond {
		now += 10 * ms
		r := goodReport()
		change(&r)
		a.sequence++
		_, reason := b.Receive(a.at, sealed(t, k, a.Session(), a.sequence, r, 1), now)
		want(t, what, reason, Implausible)
	}
	if after := b.Peers(nil, 0); !slices.Equal(before, after) {
		t.Errorf("from %+v to %+v", before, after)
	}
}

func TestMaxPeersLimitsPeersAndSessions(t *testing.T) {
	k := cellkey.New()
	const room = 20
	r := NewReceiver(Config{Key: k, MaxPeers: room}, 0)
	b := &agent{Receiver: r, Sender: NewSender(r, 0), at: address(1), says: Report{Weight: 1000}}
	accepted := 0
	for i := range 3 * room {
		a := newAgent(k, 100+i, 0)
		now := int64(i) * 20 * ms
		a.Receive(b.at, b.send(t, now), now)
		switch reason := tell(t, a, b, now); reason {
		case Accepted:
			accepted++
		case TooManyPeers:
		default:
			t.Errorf("%v", reason)
		}
		if n := len(r.sessions); n > 2*room {
			t.Fatalf("%d sessions are kept", n)
		}
	}
	if accepted != room || len(b.Peers(nil, second)) != room {
		t.Errorf("%d were accepted, %d are there; there is room for %d", accepted, len(b.Peers(nil, second)), room)
	}
}

func TestAFullReceiverAcceptsPeersAfterOthersLeft(t *testing.T) {
	k := cellkey.New()
	r := NewReceiver(Config{Key: k, MaxPeers: 1}, 0)
	b := &agent{Receiver: r, Sender: NewSender(r, 0), at: address(1), says: Report{Weight: 1000}}
	acquaint(t, newAgent(k, 2, 0), b, 0)
	c := newAgent(k, 3, 0)
	reason := Unconfirmed
	now := int64(0)
	for ; now < 200*second && reason != Accepted; now += 200 * ms {
		tell(t, b, c, now)
		reason = tell(t, c, b, now)
	}
	if reason != Accepted || now < 30*second {
		t.Errorf("%v after %d ms: %v", reason, now/ms, r.Counts())
	}
}

func TestReportsDoNotShareTheBufferOfTheCaller(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	d := a.send(t, 0)
	kept := bytes.Clone(d)
	_, reason := b.Receive(a.at, d, 0)
	want(t, "report", reason, Accepted)
	if !bytes.Equal(d, kept) {
		t.Error("Receive changed the caller's datagram")
	}
	clear(d)
	if b.Peers(nil, 0)[0].Report.FlowsUp != a.says.FlowsUp {
		t.Error("the report changed with the buffer")
	}
}
