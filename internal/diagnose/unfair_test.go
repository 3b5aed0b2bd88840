package diagnose

import (
	"net/netip"
	"slices"
	"testing"

	"airtide/internal/tcp"
)

// beside begins the scene of another flow of the same engine.
func beside(s *scene, id tcp.FlowID, cc string) *scene {
	other := newScene(s.t, Options{})
	other.engine = s.engine
	other.flow.ID = id
	other.flow.Remote = netip.MustParseAddrPort("192.0.2.9:443")
	other.flow.CongestionControl = cc
	other.row.Flow = id
	return other
}

// queued sends at the capacity of a path with a base RTT, whose queue adds a time, in µs.
func (s *scene) queued(segments, baseUs, queueUs int64) {
	s.set(values{tcp.RttUs: baseUs, tcp.MinRttUs: baseUs, tcp.SrttUs: baseUs})
	s.run(100*ms, func(int64) { s.sends(segments) })
	s.set(values{tcp.RttUs: baseUs + queueUs, tcp.SrttUs: baseUs + queueUs})
	s.run(5e9, func(int64) { s.sends(segments) })
}

// Of two connections with the same wait in a queue, the one with the longer RTT or the other
// congestion control is named if it gets less than half.
func TestUnequalSharesOfAQueue(t *testing.T) {
	for name, c := range map[string]struct {
		segments, baseUs, queueUs int64
		cc                        string
		first, want               Limit
	}{
		"longer RTT":                {1, 100_000, 42_000, "cubic", Capacity, UnfairSharing},
		"other congestion control":  {1, 20_000, 40_000, "reno", Capacity, UnfairSharing},
		"nothing else":              {1, 20_000, 40_000, "cubic", Capacity, SharedCapacity},
		"another queue":             {1, 100_000, 90_000, "cubic", Capacity, Capacity},
		"longer RTT, but as much":   {3, 100_000, 42_000, "cubic", SharedCapacity, SharedCapacity},
		"longer RTT, without queue": {1, 100_000, 0, "cubic", Capacity, CwndBound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, Options{})
			other := beside(s, 2, c.cc)
			s.queued(4, 20_000, 40_000)
			other.queued(c.segments, c.baseUs, c.queueUs)
			all := s.engine.Report().Connections
			alone, _ := s.engine.Connection(2)
			if all[0].Limit != c.first || all[1].Limit != c.want || alone.Limit != c.want {
				t.Fatalf("the limits are %s and %s, and alone %s, want %s and %s: %v", all[0].Limit, all[1].Limit,
					alone.Limit, c.first, c.want, all[1].Phases)
			}
			if c.want == UnfairSharing && (all[1].Next == "" || all[1].Refuted == "" || all[1].Certainty != Likely ||
				!slices.Equal(all[1].Or, []Limit{Capacity})) {
				t.Errorf("%+v", all[1].Finding)
			}
		})
	}
}

// Connections that wait for one bottleneck at the same time share it: those with the same ends, or
// with the same wait. One that gets nearly all of it has it for itself.
func TestSharesOfABottleneck(t *testing.T) {
	other := netip.MustParseAddrPort("192.0.2.7:443")
	for name, c := range map[string]struct {
		segments, queueUs int64
		remote            netip.AddrPort // of the other connection; empty: the same
		want              Limit
	}{
		"same ends":             {2, 40_000, netip.AddrPort{}, SharedCapacity},
		"same ends, other wait": {2, 90_000, netip.AddrPort{}, SharedCapacity},
		"same wait":             {2, 41_000, other, SharedCapacity},
		"another queue":         {2, 90_000, other, Capacity},
		"little beside":         {1, 40_000, netip.AddrPort{}, Capacity},
		"nothing waits beside":  {2, 0, netip.AddrPort{}, Capacity},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, Options{})
			s.queued(3, 20_000, 40_000)
			second := beside(s, 2, "cubic")
			second.flow.Remote = c.remote
			second.queued(c.segments, 20_000, c.queueUs)
			got := s.engine.Report().Connections[0]
			alone, _ := s.engine.Connection(1)
			if got.Limit != c.want || alone.Limit != c.want {
				t.Fatalf("the limit is %s, and alone %s, want %s: %v", got.Limit, alone.Limit, c.want, got.Phases)
			}
			if c.want == SharedCapacity && (got.Next == "" || got.Certainty != Likely ||
				!slices.Equal(got.Or, []Limit{Capacity, AckBacklog})) {
				t.Errorf("%+v", got.Finding)
			}
		})
	}
}

// A steady rate tells no path of its own from one that others fill as steadily, unless the queue is
// short.
func TestAloneOrShared(t *testing.T) {
	for queueUs, or := range map[int64][]Limit{40_000: {AckBacklog}, 90_000: {SharedCapacity, AckBacklog}} {
		s := newScene(t, Options{})
		s.queued(3, 20_000, queueUs)
		if got := s.only(); got.Limit != Capacity || !slices.Equal(got.Or, or) {
			t.Errorf("a queue of %d µs: %s or %v, %s", queueUs, got.Limit, got.Or, got.Certainty)
		}
	}
}

// A station whose radio is five times as fast as that of another gets no more than the same rate.
func TestUnequalAirtime(t *testing.T) {
	for name, c := range map[string]struct {
		rate    int64 // PHY rate of the other radio
		station string
		want    Limit
	}{
		"slow radio":           {20e6, "02:00:00:00:00:01", UnfairSharing},
		"like radio":           {90e6, "02:00:00:00:00:01", Capacity},
		"another access point": {20e6, "02:00:00:00:00:02", Capacity},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAir(t)
			a.station(5e9, good)
			other := beside(a.scene, 2, "cubic")
			other.flow.Local = netip.MustParseAddrPort("192.0.2.2:1000")
			slow := &air{scene: other, at: t0, values: a.values}
			slow.values[tcp.RadioTxRateBps] = c.rate
			for _, r := range []tcp.Radio{
				{
					Kind: tcp.RadioInterface, Addresses: []netip.Addr{other.flow.Local.Addr()},
					Values: tcp.NoRadioValues(),
				},
				{Kind: tcp.RadioStation, Station: c.station, TimeNs: t0, Values: slow.values},
				{Kind: tcp.RadioStation, Station: c.station, TimeNs: t0 + 6e9, Values: slow.values},
			} {
				r.Interface = "wlan1"
				if err := a.engine.Radio(&r); err != nil {
					t.Fatal(err)
				}
			}
			a.queued(6, 20_000, 40_000)
			other.queued(6, 20_000, 60_000)
			all := a.engine.Report().Connections
			if all[0].Limit != c.want || all[1].Limit == UnfairSharing {
				t.Errorf("the limits are %s and %s, want %s: %v", all[0].Limit, all[1].Limit, c.want, all[0].Phases)
			}
		})
	}
}
