package share

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/link"
	"airtide/internal/share/message"
	"airtide/internal/share/radio"
	"airtide/internal/share/sampler"
)

// terminal is an agent at an access point, without sockets and flows.
type terminal struct {
	*agent
	at      radio.State
	noted   []string
	session uint64
}

func newTerminal(key cellkey.Key, at radio.State) *terminal {
	t := &terminal{at: at}
	c := Config{
		Key: key, Policy: control.Observe, Radio: func() radio.State { return t.at },
		Notice: func(line string) { t.noted = append(t.noted, line) },
	}
	t.agent = &agent{
		config: c, at: &addressWatch{lookAt: math.MaxInt64}, link: &link.Link{}, ready: true,
		sampler: sampler.New(0),
	}
	r := message.NewReceiver(message.Config{Key: key}, 0)
	t.reports.receiver = r
	t.reports.sender = message.NewSender(r, 0)
	t.session = r.Session()
	t.core = control.New(control.Config{Policy: c.Policy, StandaloneBps: 50e6, Weight: 1, Session: t.session})
	return t
}

// speak runs a number of reports and steps of all terminals.
func speak(t *testing.T, all []*terminal, nowNs *int64, times int) {
	t.Helper()
	for range times {
		*nowNs += int64(200 * time.Millisecond)
		for i, from := range all {
			if err := from.step(t.Context(), *nowNs); err != nil {
				t.Fatal(err)
			}
			if err := from.seal(from.out.Report, from.out.Probe, *nowNs); err != nil {
				t.Fatal(err)
			}
			for j, to := range all {
				if i != j {
					to.reports.receiver.Take(addressOf(i), from.reports.datagram, *nowNs)
				}
			}
		}
	}
}

func addressOf(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), 0)
}

// counted are the numbers of the terminals that count with one.
func counted(t *terminal, all []*terminal) (numbers []int) {
	for i, other := range all {
		if slices.ContainsFunc(t.reports.peers, func(p message.Peer) bool {
			return p.Report.Session == other.session
		}) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// moveCounter counts the changes of the access point in a core's inputs.
type moveCounter struct{ n int }

func (m *moveCounter) Begin(control.Config) {}
func (m *moveCounter) Step(_ time.Duration, in control.Inputs, _ control.Outputs) {
	if in.NewAccessPoint {
		m.n++
	}
}

// Two access points are on one network, and a terminal moves from one to the other.
func TestOnlyTerminalsOfTheSameAccessPointCount(t *testing.T) {
	near := radio.State{Place: radio.Place{BSSID: radio.BSSID{2, 0, 0, 0, 0, 1}, MHz: 5180}}
	far := radio.State{Place: radio.Place{BSSID: radio.BSSID{2, 0, 0, 0, 0, 2}, MHz: 5180}}
	key := cellkey.New()
	all := []*terminal{
		newTerminal(key, near), newTerminal(key, near), newTerminal(key, far), newTerminal(key, radio.State{}),
	}
	now := int64(time.Hour)
	expect := func(what string, elsewhere int, want ...[]int) {
		t.Helper()
		for i, terminal := range all {
			if got := counted(terminal, all); !slices.Equal(got, want[i]) {
				t.Errorf("%s: with number %d count %v, want %v", what, i, got, want[i])
			}
		}
		if all[0].reports.otherCells != elsewhere {
			t.Errorf("%s: number 0 hears %d elsewhere, want %d", what, all[0].reports.otherCells, elsewhere)
		}
	}
	speak(t, all, &now, 10)
	expect("at two access points", 1, []int{1, 3}, []int{0, 3}, []int{3}, []int{0, 1, 2})

	moves := &moveCounter{}
	all[0].config.Record = moves
	session := all[0].session
	all[0].at = radio.State{} // between the two it is still at the first
	speak(t, all, &now, 1)
	expect("between them", 1, []int{1, 3}, []int{0, 3}, []int{3}, []int{0, 1, 2})
	if moves.n != 0 {
		t.Error("between them its core was told of another access point")
	}
	all[0].at = far
	now += int64(100 * time.Millisecond)
	if err := all[0].step(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if got := counted(all[0], all); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("at the other, with it count %v at once", got)
	}
	if moves.n != 1 {
		t.Errorf("at the other its core was told of it %d times", moves.n)
	}
	speak(t, all, &now, 2)
	expect("at the other", 1, []int{2, 3}, []int{3}, []int{0, 3}, []int{0, 1, 2})
	said := strings.Join(all[0].noted, "\n")
	if strings.Count(said, "another access point") != 1 || all[0].session != session {
		t.Errorf("it said %q", said)
	}
	if said := strings.Join(all[1].noted, "\n"); strings.Contains(said, "another access point") {
		t.Errorf("who stayed said %q", said)
	}
}

// Reports from another access point neither end the silence of the cell nor shorten its limit.
func TestOtherAccessPointsDoNotCountForSilence(t *testing.T) {
	at := func(last byte) radio.State {
		return radio.State{Place: radio.Place{BSSID: radio.BSSID{2, 0, 0, 0, 0, last}, MHz: 5180}}
	}
	key := cellkey.New()
	all := []*terminal{newTerminal(key, at(1)), newTerminal(key, at(1))}
	for range 14 {
		all = append(all, newTerminal(key, at(2)))
	}
	now := int64(time.Hour)
	speak(t, all, &now, 20)
	if len(all[0].reports.peers) != 1 || all[0].reports.otherCells != 14 {
		t.Fatalf("%d peers and %d elsewhere", len(all[0].reports.peers), all[0].reports.otherCells)
	}
	period := time.Duration(all[0].reports.peers[0].Report.PeriodMs) * time.Millisecond
	if _, limit := all[0].collectPeers(now); limit < 3*period {
		t.Errorf("the silence limit is %s, the period of the only peer %s", limit, period)
	}
	speak(t, append([]*terminal{all[0]}, all[2:]...), &now, 5)
	if quiet, _ := all[0].collectPeers(now); quiet < 900*time.Millisecond {
		t.Errorf("a second after the last report of the cell, the silence is %s", quiet)
	}
}

// The band decides the rate of multicast unless it is configured.
func TestMulticastUsesTheLowestRateOfTheBand(t *testing.T) {
	for _, c := range []struct {
		mhz  int
		told float64
		want message.Rate
	}{
		{0, 0, 1000},
		{2437, 0, 1000},
		{5180, 0, 6000},
		{5955, 0, 6000},
		{0, 5.5e6, 5500},
		{2437, 12e6, 12_000},
		{5180, 1e6, 1000},
	} {
		a := &agent{config: Config{MulticastBps: c.told, Link: link.Config{Interface: "wlan0"}}}
		a.updateRadio(radio.State{Place: radio.Place{MHz: c.mhz}})
		a.updateRadio(radio.State{}) // unknown for a moment
		if got := a.reportLink().MulticastKbps; got != c.want {
			t.Errorf("at %d MHz, told %g bit/s: %d kbit/s, want %d", c.mhz, c.told, got, c.want)
		}
	}
}

func TestFamiliesToReachAll(t *testing.T) {
	both := link.Families{Four: true, Six: true}
	four := link.Families{Four: true}
	six := link.Families{Six: true}
	for _, c := range []struct{ have, wanted, got link.Families }{
		{both, both, both},
		{both, four, four},
		{both, six, six},
		{four, both, four},
		{four, six, four},
		{six, four, six},
		{link.Families{}, both, link.Families{}},
	} {
		if got := familiesToReachAll(c.have, c.wanted.Four, c.wanted.Six); got != c.got {
			t.Errorf("of %+v for %+v: %+v", c.have, c.wanted, got)
		}
	}
}

// The own state and the bounds of a status are of the same step.
func TestOwnStateAgreesWithTheBounds(t *testing.T) {
	a := &agent{config: Config{Key: cellkey.New()}}
	for _, out := range []control.Outputs{
		{Report: message.Report{State: message.Controlling, BoundKbps: 1000}, View: control.View{ShareBps: 1e6}},
		{Report: message.Report{State: message.Released}, Reason: "no other terminal is heard"},
	} {
		a.out = out
		s := a.statusOf([message.NumReasons]uint64{})
		if s.Bounded != (s.Own.State == "controlling") || s.Own.BoundBps != s.ShareBps {
			t.Errorf("bounds in force: %v, own state %q with a bound of %g bit/s",
				s.Bounded, s.Own.State, s.Own.BoundBps)
		}
	}
}

// Peers with one address differ in the port, because labels of metrics have to be unique.
func TestPeersWithOneAddressHavePorts(t *testing.T) {
	a := &agent{}
	for _, source := range []string{"10.0.0.2:1000", "10.0.0.2:1001", "10.0.0.3:1000", "[fe80::1]:7", "[fe80::1]:8"} {
		a.reports.peers = append(a.reports.peers, message.Peer{Source: netip.MustParseAddrPort(source)})
	}
	var got []string
	for _, p := range a.statusOf([message.NumReasons]uint64{}).Peers {
		got = append(got, p.Address)
	}
	want := []string{"10.0.0.2:1000", "10.0.0.2:1001", "10.0.0.3", "[fe80::1]:7", "[fe80::1]:8"}
	if !slices.Equal(got, want) {
		t.Errorf("peers at %v, want %v", got, want)
	}
}
