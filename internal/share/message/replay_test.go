package message

import (
	"testing"

	"airtide/internal/share/cellkey"
)

func TestDuplicatesCountOnce(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	d := a.send(t, 0)
	_, reason := b.Receive(a.at, d, 0)
	want(t, "once", reason, Accepted)
	for range 5 {
		_, reason = b.Receive(a.at, d, 0)
		want(t, "again", reason, Replayed)
		_, reason = b.Receive(address(9), d, 0)
		want(t, "again from elsewhere", reason, Replayed)
	}
}

func TestOvertakenReportsAreNotApplied(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	var sent [][]byte
	for i := range 100 {
		a.says.UploadKbps = Rate(i + 1)
		sent = append(sent, a.send(t, 0))
	}
	_, reason := b.Receive(a.at, sent[98], 0)
	want(t, "a late one first", reason, Accepted)
	for _, i := range []int{97, 50, 0} {
		_, reason = b.Receive(a.at, sent[i], 0)
		want(t, "an earlier one", reason, Stale)
	}
	_, reason = b.Receive(a.at, sent[98], 0)
	want(t, "the same", reason, Replayed)
	if got := b.Peers(nil, 0)[0].Report.UploadKbps; got != 99 {
		t.Errorf("the report of number %d counts", got)
	}
	_, reason = b.Receive(a.at, sent[99], 0)
	want(t, "the next", reason, Accepted)
}

func TestTheWindowDistinguishesReplayedFromStale(t *testing.T) {
	var w window
	for _, n := range []uint32{1, 2, 5, 70, 1000, 1 << 31, 1<<32 - 1} {
		want(t, "a newer one", w.judge(n), Accepted)
		w.take(n)
		want(t, "the newest", w.judge(n), Replayed)
	}
	w = window{}
	for _, n := range []uint32{1, 2, 5, 64} {
		w.take(n)
	}
	for n, expected := range map[uint32]Reason{
		1: Replayed, 2: Replayed, 3: Stale, 5: Replayed, 63: Stale, 64: Replayed, 65: Accepted,
	} {
		want(t, "number", w.judge(n), expected)
	}
	w.take(65)
	want(t, "beyond the window", w.judge(1), Stale)
}

func TestReplaysDoNotConfirmAfterARestart(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	var recording [][]byte
	for i := range int64(50) {
		now := i * 200 * ms
		d := a.send(t, now)
		e := b.send(t, now)
		a.Receive(b.at, e, now)
		b.Receive(a.at, d, now)
		recording = append(recording, d, e)
	}
	later := newAgent(k, 3, 0) // its clock begins anew
	for i, d := range recording {
		now := int64(i) * 100 * ms
		_, reason := later.Receive(address(1+i%2), d, now)
		want(t, "a recording", reason, Unconfirmed)
		later.send(t, now)
	}
	if n := len(later.Peers(nil, 5*second)); n != 0 {
		t.Errorf("%d peers out of a recording", n)
	}
	// b restarts at the same address and gets old reports of itself and of a.
	again := newAgent(k, 2, 11*second)
	for _, d := range recording {
		if _, reason := again.Receive(a.at, d, 11*second); reason == Accepted {
			t.Error("a recording was accepted after a restart")
		}
	}
}

// A gone peer is forgotten. Its old reports are rejected later, even if they never arrived before.
func TestReplaysOfAForgottenPeerAreRejected(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	var lost [][]byte
	now := int64(0)
	for ; now < 10*second; now += 200 * ms {
		tell(t, b, a, now)
		lost = append(lost, a.send(t, now)) // answers b, and never comes there in time
	}
	for ; len(b.sessions) > 0; now += 200 * ms {
		b.send(t, now)
		b.Peers(nil, now)
		if now > 10*60*second {
			t.Fatal("b never forgets")
		}
	}
	for _, d := range lost {
		now += 50 * ms
		if _, reason := b.Receive(a.at, d, now); reason != Unconfirmed {
			t.Fatalf("%v", reason)
		}
	}
}

// An attacker delays a stream of reports. It is accepted for at most three rotations.
func TestADelayedStreamIsAcceptedForAShortTime(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	var held [][]byte
	now := int64(0)
	for ; now < 600*second; now += 200 * ms { // b does not hear a, a hears b for a while
		if now < 5*second {
			tell(t, b, a, now)
		}
		held = append(held, a.send(t, now))
	}
	now = 200 * ms
	believed := int64(0)
	for _, d := range held {
		if _, reason := b.Receive(a.at, d, now); reason == Accepted {
			believed = now
		}
		b.send(t, now)
		now += 200 * ms
	}
	const rotation = int64(shortestRotationNs)
	if believed < rotation || believed > 3*rotation+10*second {
		t.Errorf("believed until %d s, rotations take %d s", believed/second, rotation/second)
	}
}

func TestAnAnsweringPeerStaysConfirmed(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	for now := int64(0); now < 600*second; now += 200 * ms {
		want(t, "a", tell(t, a, b, now), Accepted)
		want(t, "b", tell(t, b, a, now), Accepted)
	}
}
