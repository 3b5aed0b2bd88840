package message

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"airtide/internal/share/cellkey"
)

// hubAt is the address of the hub.
var hubAt = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), 0)

// behindHub returns an agent that accepts bundles of the hub.
func behindHub(k cellkey.Key, i int, nowNs int64) *agent {
	r := NewReceiver(Config{
		Key: k, Random: rand.NewPCG(uint64(i), 1), Hubs: []netip.Addr{hubAt.Addr()},
		Link: Link{Copies: 1, NoMulticast: true, DataKbps: 65_000},
	}, nowNs)
	return &agent{Receiver: r, Sender: NewSender(r, nowNs), at: address(i), says: Report{
		State: Controlling, Weight: 1000, FlowsUp: uint16(i), MaxKbps: 65_000, MaxSource: Configured,
	}}
}

// meeting is a cell whose terminals reach each other only through a hub.
type meeting struct {
	hub        *Relay
	agents     []*agent
	loss       float64
	random     *rand.Rand
	bundles    [][]byte // bundles to the first agent, if keep is set
	keep       bool
	upNs, down int64 // airtime
}

func meet(k cellkey.Key, n int) *meeting {
	m := &meeting{hub: NewRelay(Config{Key: k, Random: rand.NewPCG(99, 9)}, 0), random: seeded(5)}
	for i := range n {
		m.agents = append(m.agents, behindHub(k, i+1, 0))
	}
	return m
}

func (m *meeting) to(address netip.AddrPort, bundle []byte, nowNs int64) {
	m.down += Link{DataKbps: 65_000}.ordinaryNs(len(bundle))
	if m.keep && address == m.agents[0].at {
		m.bundles = append(m.bundles, append([]byte(nil), bundle...))
	}
	for _, a := range m.agents {
		if a.at == address && m.random.Float64() >= m.loss {
			a.Take(hubAt, bundle, nowNs)
		}
	}
}

// run runs the cell in virtual time until enough returns true, or until a time.
func (m *meeting) run(t *testing.T, fromNs, untilNs int64, enough func(nowNs int64) bool) int64 {
	t.Helper()
	for now := fromNs; now < untilNs; now = max(now+ms/10, m.dueNs(now)) {
		for _, a := range m.agents {
			if a.DueNs(now) <= now {
				d := a.send(t, now)
				m.upNs += Link{DataKbps: 65_000}.ordinaryNs(len(d))
				if m.random.Float64() >= m.loss {
					if reply, _ := m.hub.Take(a.at, d, now); reply != nil {
						m.to(a.at, reply, now)
					}
				}
			}
		}
		if m.hub.DueNs() <= now {
			m.hub.Send(now, func(to netip.AddrPort, bundle []byte) { m.to(to, bundle, now) })
		}
		if enough(now) {
			return now
		}
	}
	return untilNs
}

// dueNs returns the time of the next report or bundle.
func (m *meeting) dueNs(nowNs int64) int64 {
	due := m.hub.DueNs()
	for _, a := range m.agents {
		due = min(due, a.DueNs(nowNs))
	}
	return due
}

func (m *meeting) complete(nowNs int64) bool {
	for _, a := range m.agents {
		if len(a.Peers(nil, nowNs)) != len(m.agents)-1 {
			return false
		}
	}
	return true
}

func never(int64) bool { return false }

func TestTerminalsFindEachOtherThroughAHub(t *testing.T) {
	for _, c := range []struct {
		terminals int
		loss      float64
		within    int64
	}{{2, 0, 3 * second}, {2, 0.3, 20 * second}, {5, 0, 10 * second}, {16, 0, 60 * second}, {16, 0.3, 400 * second}} {
		t.Run(fmt.Sprintf("%d, loss %g", c.terminals, c.loss), func(t *testing.T) {
			m := meet(cellkey.New(), c.terminals)
			m.loss = c.loss
			at := m.run(t, 0, c.within, m.complete)
			if at == c.within {
				t.Fatalf("after %d s not all count with all", at/second)
			}
			for _, a := range m.agents {
				for _, p := range a.Peers(nil, at) {
					if p.Source != address(int(p.Report.FlowsUp)) {
						t.Errorf("terminal %d counts as one of %v", p.Report.FlowsUp, p.Source)
					}
				}
			}
			m.upNs = 0
			m.down = 0
			m.loss = 0
			end := at + 120*second
			heard := int64(0)
			longest := int64(0)
			m.run(t, at, end, func(now int64) bool {
				newest := int64(0)
				for _, p := range m.agents[0].Peers(nil, now) {
					newest = max(newest, p.HeardNs)
				}
				if newest > heard {
					if heard > 0 {
						longest = max(longest, newest-heard)
					}
					heard = newest
				}
				return false
			})
			if pause := m.agents[0].MeanGapNs(0); longest > 4*pause || longest < pause {
				t.Errorf("the longest gap between reports is %.2f s, the mean %.2f s",
					float64(longest)/1e9, float64(pause)/1e9)
			}
			if !m.complete(end) {
				t.Error("two minutes later not all count with all")
			}
			if part := float64(m.upNs+m.down) / 120e9; part > 0.0102 || part < 0.003 {
				t.Errorf("reports and bundles take %.2f %% of the airtime", 100*part)
			}
			t.Logf("met after %.1f s; airtime %.2f %%, period %.2f s", float64(at)/1e9,
				float64(m.upNs+m.down)/120e7, float64(m.agents[0].Receiver.periodNs)/1e9)
		})
	}
}

func TestAHubDoesNotCountAsATerminal(t *testing.T) {
	k := cellkey.New()
	m := meet(k, 1)
	m.run(t, 0, 100*second, never)
	a := m.agents[0]
	if a.Terminals(100*second) != 1 || len(a.Peers(nil, 100*second)) != 0 {
		t.Errorf("alone with a hub it counts %d terminals", a.Terminals(100*second))
	}
}

func TestAHubDoesNotForwardReplays(t *testing.T) {
	k := cellkey.New()
	m := meet(k, 2)
	stranger := address(77)
	var recorded [][]byte
	for _, a := range m.agents {
		recorded = append(recorded, a.send(t, 0), a.send(t, 0), a.send(t, 0))
	}
	given := 0
	for _, d := range recorded { // they come from an unused source
		reply, reason := m.hub.Take(stranger, d, 0)
		want(t, "a recording", reason, Unconfirmed)
		if len(reply) == 0 || len(reply) >= len(d) {
			t.Errorf("a reply of %d bytes to %d", len(reply), len(d))
		}
	}
	m.hub.Send(second, func(netip.AddrPort, []byte) { given++ })
	if given > 0 || m.hub.Members(second) > 0 {
		t.Errorf("%d bundles were given, %d members", given, m.hub.Members(second))
	}
	reply, reason := m.hub.Take(stranger, newAgent(cellkey.New(), 3, 0).send(t, 0), 0)
	if reply != nil || reason != OtherCell {
		t.Errorf("another cell's: %v, a reply of %d bytes", reason, len(reply))
	}
}

func TestAHubDoesNotForwardAFlood(t *testing.T) {
	k := cellkey.New()
	m := meet(k, 3)
	at := m.run(t, 0, 10*second, m.complete)
	m.run(t, at, at+10*second, never) // let the first reports pass
	start := at + 10*second
	m.down = 0
	m.run(t, start, start+10*second, never)
	usual := m.down
	m.down = 0
	liar := m.agents[0]
	for now := start + 10*second; now < start+20*second; now += 5 * ms {
		m.hub.Take(liar.at, liar.send(t, now), now)
		m.run(t, now, now+5*ms, never)
	}
	if m.down > 4*usual {
		t.Errorf("while one floods, bundles take %.1f times the airtime", float64(m.down)/float64(usual))
	}
}

func TestInvalidBundlesAreRejected(t *testing.T) {
	k := cellkey.New()
	m := meet(k, 2)
	m.keep = true
	at := m.run(t, 0, 10*second, m.complete)
	a := m.agents[0]
	for _, b := range m.bundles {
		if reason := a.Take(hubAt, b, at); reason != Replayed && reason != Stale {
			t.Fatalf("repeated: %v", reason)
		}
		want(t, "from elsewhere", a.Take(address(9), b, at), NotAHub)
		if len(b) >= shortest {
			want(t, "as a report", a.Take(hubAt, append([]byte{magic}, b[1:]...), at), WrongKey)
			at += 50 * ms // so that the rate is no reason
		}
	}
	fresh := m.hub.seal(a.at, m.hub.r.keys[0].tag, nil, true)
	for i := range fresh {
		changed := append([]byte(nil), fresh...)
		changed[i] ^= 0x40
		if reason := a.Take(hubAt, changed, at); reason == Bundled || reason == Accepted {
			t.Errorf("byte %d changed: %v", i, reason)
		}
		a.Take(hubAt, fresh[:i], at)
		at += 50 * ms // so that the rate is no reason
	}
	want(t, "unchanged", a.Take(hubAt, fresh, at), Bundled)
	other := NewRelay(Config{Key: cellkey.New()}, 0)
	want(t, "of another cell", a.Take(hubAt, other.seal(a.at, other.r.keys[0].tag, nil, true), at), OtherCell)
}

func TestTheNumberOfHubSessionsIsLimited(t *testing.T) {
	k := cellkey.New()
	a := behindHub(k, 1, 0)
	for i := range 1000 {
		h := NewRelay(Config{Key: k}, 0)
		a.Take(hubAt, h.seal(a.at, h.r.keys[0].tag, nil, true), int64(i)*second)
	}
	if n := len(a.hubs.sessions); n > mostHubs {
		t.Errorf("%d sessions of hubs are known", n)
	}
	if a.hubs.places() != 1 {
		t.Errorf("they are at %d places", a.hubs.places())
	}
}

func TestARestartedHubServesItsCell(t *testing.T) {
	k := cellkey.New()
	m := meet(k, 3)
	at := m.run(t, 0, 20*second, m.complete)
	m.hub = NewRelay(Config{Key: k, Random: rand.NewPCG(98, 9)}, at)
	m.run(t, at, at+20*second, never)
	if !m.complete(at + 20*second) {
		t.Error("after 20 s with another hub not all count with all")
	}
}

func FuzzBundle(f *testing.F) {
	k := cellkey.New()
	f.Add(appendBundle(nil, 1, true, []entry{{address(3), []byte("report")}}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		b, err := decodeBundle(body)
		if err == nil && b.challenge == 0 {
			t.Error("a bundle without a challenge is taken")
		}
		if len(body)+headerSize+sealSize > MaxDatagram {
			return
		}
		// A member that lies, in the place of a hub.
		a := behindHub(k, 1, 0)
		a.Take(hubAt, sealBundle(nil, newSealer(k, 5), header{a.keys[0].tag, 5, 1}, body), 0)
		if len(a.Peers(nil, 0)) > 0 {
			t.Error("a bundle made a peer out of nothing")
		}
	})
}

// A member of the cell forges source addresses. It has answered the hub's challenge at its own
// address. The hub sends an address without an own answer at most the bytes that came from it.
func TestAHubIsNoReflector(t *testing.T) {
	for _, sessions := range []int{1, 2, 16, 256, 1024} {
		t.Run(fmt.Sprintf("%d sessions", sessions), func(t *testing.T) {
			k := cellkey.New()
			hub := NewRelay(Config{Key: k, Random: rand.NewPCG(99, 9)}, 0)
			own := address(1)
			victim4 := netip.AddrPortFrom(netip.MustParseAddr("198.51.100.7"), 0)
			victim6 := netip.AddrPortFrom(netip.MustParseAddr("2001:db8::7"), 0)
			moved := netip.AddrPortFrom(netip.MustParseAddr("198.51.100.8"), 0)
			from := map[netip.AddrPort]int{}
			to := map[netip.AddrPort]int{}
			sequence := uint32(0)
			var challenges []uint64 // all that the hub sent to the member's own address
			learn := func(bundle []byte) {
				h, err := parseHeaderOf(magicBundle, shortestBundle, bundle)
				if err != nil {
					t.Fatal(err)
				}
				plain, err := open(nil, newSealer(k, h.session), bundle)
				if err != nil {
					t.Fatal(err)
				}
				b, err := decodeBundle(plain)
				if err != nil {
					t.Fatal(err)
				}
				challenges = append(challenges, b.challenge)
				challenges = challenges[max(0, len(challenges)-2):]
			}
			give := func(at netip.AddrPort, bundle []byte) {
				to[at] += len(bundle)
				if at == own {
					learn(bundle)
				}
			}
			send := func(source netip.AddrPort, session uint64, both bool, nowNs int64) {
				sequence++
				report := goodReport()
				report.BothFamilies = both
				d := sealed(t, k, session, sequence, report, 7, challenges...)
				from[source] += len(d)
				if reply, _ := hub.Take(source, d, nowNs); reply != nil {
					give(source, reply)
				}
			}
			now := int64(0)
			for round := range 8 {
				for i := range sessions {
					session := uint64(i + 1)
					now += 30 * ms
					send(own, session, true, now)     // learns the challenge, and answers it
					send(own, session, true, now)     // is confirmed
					send(victim6, session, true, now) // as the second address of one that hears both
					send(victim4, session, true, now)
					send(netip.AddrPortFrom(victim4.Addr(), uint16(1000+i)), session+1<<20, false, now)
					if hub.DueNs() <= now {
						hub.Send(now, give)
					}
				}
				if round%2 == 1 {
					now += 40 * second // the sessions are silent, and move to the victim
					for i := range min(sessions, 64) {
						now += 30 * ms
						send(victim4, uint64(i+1), false, now)
						hub.Send(now, give)
					}
					// One that is proven at its own address moves with a single report, and
					// another one makes the hub send.
					const mover = 1 << 30
					const other = mover + 1
					for range 3 {
						now += 30 * ms
						send(own, mover, false, now)
					}
					now += 10 * second
					send(moved, mover, false, now)
					for range 50 {
						now += 30 * ms
						send(own, other, false, now)
						hub.Send(now, give)
					}
				}
			}
			if to[own] == 0 {
				t.Error("the member itself got nothing")
			}
			for at, bytes := range to {
				if at != own && bytes > from[at] {
					t.Errorf("%v got %d bytes for %d", at, bytes, from[at])
				}
			}
		})
	}
}

// A member with 300 ports at one address floods the hub. The others still hear each other, and the
// hub sends each of them little more than before.
func TestAHubServesHonestMembersBesideAFloodingOne(t *testing.T) {
	const ports, until, flooded = 300, 60 * second, 10 * second
	k := cellkey.New()
	m := meet(k, 3)
	m.run(t, 0, flooded, never)
	if !m.complete(flooded) {
		t.Fatal("the members do not know each other before the flood")
	}
	var flooders []*agent
	for i := range ports {
		a := behindHub(k, 1000+i, flooded)
		a.at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 66, 0, 1}), uint16(1+i))
		flooders = append(flooders, a)
	}
	m.keep = true
	lost := m.agents[0].Counts()[RateLimited]
	report := Report{State: Controlling, Weight: 1000, MaxKbps: 65_000, MaxSource: Configured, UploadKbps: 5000}
	missing := 0
	counted := 0
	next := int64(flooded)
	m.run(t, flooded, until, func(now int64) bool {
		for ; next <= now; next += 3 * ms { // each port sends 22 reports a second in turns of 15
			for range 20 {
				a := flooders[m.random.IntN(ports)]
				d, err := a.Seal(nil, report, now)
				if err != nil {
					t.Fatal(err)
				}
				if reply, _ := m.hub.Take(a.at, d, now); reply != nil {
					a.Take(hubAt, reply, now)
				}
			}
		}
		counted++
		for _, a := range m.agents {
			honest := 0
			for _, p := range a.Peers(nil, now) {
				if p.Source.Addr() != flooders[0].at.Addr() {
					honest++
				}
			}
			if honest < len(m.agents)-1 {
				missing++
			}
		}
		return false
	})
	if missing > 0 {
		t.Errorf("in %d of %d looks an honest member had lost another one", missing, counted*len(m.agents))
	}
	if n := m.agents[0].Counts()[RateLimited] - lost; n > 10 {
		t.Errorf("a member refused %d datagrams of its hub", n)
	}
	if n := m.hub.Members(until); n > len(m.agents)+16 { // as SECURITY.md says
		t.Errorf("%d members count, of which %d have one address", n, n-len(m.agents))
	}
	if perSecond := len(m.bundles) / int((until-flooded)/second); perSecond > bundlesPerSecond {
		t.Errorf("a member gets %d bundles a second, at most %d allowed", perSecond, bundlesPerSecond)
	}
}
