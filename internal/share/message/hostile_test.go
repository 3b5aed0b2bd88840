package message

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"airtide/internal/share/cellkey"
)

// bounded fails the test if a Receiver keeps more than it may.
func bounded(t *testing.T, r *Receiver) {
	t.Helper()
	if n := len(r.sessions); n > 2*r.maxPeers {
		t.Fatalf("%d sessions are kept for at most %d peers", n, r.maxPeers)
	}
	if r.proven > r.maxPeers || len(r.holders) > r.proven {
		t.Fatalf("%d proven sessions, %d sources of them, at most %d peers", r.proven, len(r.holders), r.maxPeers)
	}
	if n := len(r.sources.elements); n > mostSources || n != r.sources.recent.Len() {
		t.Fatalf("%d sources are kept, and %d in their order", n, r.sources.recent.Len())
	}
	if cap(r.plain) > 2*MaxDatagram || cap(r.scratch) > 8*r.maxPeers {
		t.Fatalf("scratch of %d bytes and %d sessions", cap(r.plain), cap(r.scratch))
	}
}

// An attacker without the key receives all traffic and sends a million datagrams: random bytes,
// valid headers with random bodies or future numbers, changed and replayed reports, and reports of
// former sessions. Three terminals exchange reports at the same time.
func TestAMillionHostileDatagramsChangeNothing(t *testing.T) {
	k := cellkey.New()
	tag := k.Tag()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	c := newAgent(k, 3, 0)
	// Two hundred former sessions, with answers to each other.
	var recordings [][]byte
	for i := range 100 {
		x := newAgent(k, 1000+2*i, 0)
		y := newAgent(k, 1001+2*i, 0)
		for range 5 {
			d := x.send(t, 0)
			e := y.send(t, 0)
			x.Receive(y.at, e, 0)
			y.Receive(x.at, d, 0)
			recordings = append(recordings, d, e)
		}
	}
	acquaint(t, a, b, 0)
	acquaint(t, c, b, 0)
	acquaint(t, a, c, 0)

	random := seeded(11)
	rubbish := func(n int) []byte {
		d := make([]byte, n)
		for i := range d {
			d[i] = byte(random.Uint32())
		}
		return d
	}
	var heard [][]byte // the latest reports, by which the attacker goes
	attack := func() (netip.AddrPort, []byte) {
		from := address(70_000)
		switch random.IntN(4) {
		case 0:
			from = address(80_000 + random.IntN(1<<22)) // ever new ones
		case 1:
			from = address(80_000 + random.IntN(50))
		}
		latest := heard[random.IntN(len(heard))]
		switch random.IntN(9) {
		case 0:
			return from, rubbish(random.IntN(1500))
		case 1: // a header of the cell
			return from, append(header{tag, random.Uint64(), random.Uint32()}.appendAs(nil, magic), rubbish(121)...)
		case 2: // a session that is there, a number to come
			d := slices.Clone(latest)
			binary.LittleEndian.PutUint32(d[atSequence:], random.Uint32())
			return from, d
		case 3:
			d := slices.Clone(latest)
			d[random.IntN(len(d))] ^= 1 << random.IntN(8)
			return from, d
		case 4: // replayed from elsewhere, or from another terminal's address
			return []netip.AddrPort{from, a.at, b.at, c.at}[random.IntN(4)], latest
		case 5, 6:
			return from, recordings[random.IntN(len(recordings))]
		case 7:
			return from, latest[:random.IntN(len(latest))]
		}
		return from, append(slices.Clone(latest), rubbish(1+random.IntN(2000))...)
	}

	const rounds, each = 1000, 1000
	now := int64(0)
	agents := []*agent{a, b, c}
	accepted := map[*agent]int{}
	for i := range rounds {
		now += 400 * ms
		for j, x := range agents {
			x.says.UploadKbps = Rate(1 + i*3 + j)
			d := x.send(t, now)
			heard = append(heard[max(0, len(heard)-8):], d)
			for _, y := range agents {
				if _, reason := y.Receive(x.at, d, now); reason == Accepted {
					accepted[y]++
				} else if reason != Own {
					t.Fatalf("round %d: a true report: %v", i, reason)
				}
			}
		}
		before := b.Peers(nil, now)
		for range each {
			from, d := attack()
			if report, reason := b.Receive(from, d, now); reason == Accepted || report != (Report{}) {
				t.Fatalf("round %d: an attacker's datagram is accepted: %+v", i, report)
			}
		}
		if after := b.Peers(nil, now); !slices.Equal(before, after) || len(after) != 2 {
			t.Fatalf("round %d: peers from %+v to %+v", i, before, after)
		}
		bounded(t, b.Receiver)
		// Replays of 200 sessions make the period longer, up to the limit.
		if n := b.Terminals(now); i > youngReports && n > 3+2+trustedBeyond {
			t.Fatalf("round %d: %d terminals", i, n)
		}
	}
	if accepted[b] != 2*rounds {
		t.Errorf("%d of %d true reports were accepted", accepted[b], 2*rounds)
	}
	counts := b.Counts()
	total := uint64(0)
	for reason, n := range counts {
		total += n
		t.Logf("%-14s %7d", Reason(reason), n)
	}
	if total < rounds*each {
		t.Errorf("%d datagrams were counted", total)
	}
	for _, reason := range []Reason{
		Oversized, Malformed, OtherVersion, OtherCell, Replayed, Stale, RateLimited, WrongKey, Unconfirmed,
	} {
		if counts[reason] == 0 {
			t.Errorf("the attack had no datagram with the outcome %v", reason)
		}
	}
}

// A member can seal any report. It can occupy its own addresses and make the period longer. It
// cannot change another member's report or take the place of a present peer.
func TestAFloodingMemberAffectsNoOtherPeer(t *testing.T) {
	k := cellkey.New()
	r := NewReceiver(Config{Key: k, MaxPeers: 32}, 0)
	b := &agent{Receiver: r, Sender: NewSender(r, 0), at: address(1), says: Report{Weight: 1000}}
	honest := newAgent(k, 2, 0)
	acquaint(t, honest, b, 0)
	random := seeded(5)
	now := int64(0)
	for round := range 200 {
		now += 250 * ms
		honest.says.UploadKbps = Rate(round + 1)
		want(t, "the honest one", tell(t, honest, b, now), Accepted)
		mine := b.send(t, now)
		h, err := parseHeader(mine)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := open(nil, newSealer(k, h.session), mine)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := decodeBody(plain)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			// New sessions, all with answers, from its own address, from others, and from the
			// address of the honest member.
			from := []netip.AddrPort{address(66), address(1000 + random.IntN(1000)), honest.at}[i%3]
			d := sealed(t, k, random.Uint64()|1, uint32(1+random.IntN(9)), plausible(random), random.Uint64(),
				answer.challenge)
			b.Receive(from, d, now)
		}
		bounded(t, r)
		peers := b.Peers(nil, now)
		i := slices.IndexFunc(peers, func(p Peer) bool { return p.Source == honest.at })
		if i < 0 || peers[i].Report.Session != honest.Session() ||
			peers[i].Report.UploadKbps != honest.says.UploadKbps {
			t.Fatalf("round %d: the honest member is not among the peers %+v", round, peers)
		}
		at := map[netip.AddrPort]bool{}
		for _, p := range peers {
			if at[p.Source] {
				t.Fatalf("two terminals count at %v", p.Source)
			}
			at[p.Source] = true
		}
	}
	if b.Counts()[SourceTaken] == 0 || b.Counts()[TooManyPeers] == 0 {
		t.Errorf("the flood reached no limit: %v", b.Counts())
	}
}

func TestAFloodFromOneAddressStarvesNoOther(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	tag := k.Tag()
	junk := append(header{tag, 99, 99}.appendAs(nil, magic), make([]byte, 121)...)
	now := int64(0)
	opened := 0
	for range 100 {
		now += 200 * ms
		for range 1000 {
			if _, reason := b.Receive(address(66), junk, now); reason == WrongKey {
				opened++
			}
		}
		// A new peer is accepted, and a known peer stays.
		tell(t, b, a, now)
		if reason := tell(t, a, b, now); reason != Accepted && now > 400*ms {
			t.Fatalf("%d ms: %v", now/ms, reason)
		}
	}
	if most := 40 + 40*20; opened == 0 || opened > most {
		t.Errorf("%d of the flood were tried, want at most %d", opened, most)
	}
}

func TestAFloodFromManyAddressesDoesNotAffectPeers(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	tag := k.Tag()
	junk := append(header{tag, 99, 99}.appendAs(nil, magic), make([]byte, 121)...)
	now := int64(0)
	opened := 0
	for i := range 100 {
		now += 200 * ms
		for j := range 5000 {
			if _, reason := b.Receive(address(1000+i*5000+j), junk, now); reason == WrongKey {
				opened++
			}
		}
		want(t, "the peer", tell(t, a, b, now), Accepted)
		bounded(t, b.Receiver)
	}
	if most := 1000 + 500*20 + 1; opened > most {
		t.Errorf("%d of the flood were tried, want at most %d", opened, most)
	}
}

func TestABucketLimitsTheRate(t *testing.T) {
	l := limit{everyNs: 100, burst: 5}
	var b bucket
	given := 0
	for now := int64(1000); now <= 11_000; now++ {
		if b.take(l, now) {
			given++
		}
	}
	if given != 5+100 {
		t.Errorf("%d tokens, want 5 at once and 100 in time", given)
	}
	for range 5 {
		if !b.take(l, 1_000_000) {
			t.Error("it is not full after a while")
		}
	}
	if b.take(l, 1_000_000) {
		t.Error("it gives more than it holds")
	}
}
