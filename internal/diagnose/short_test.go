package diagnose

import (
	"slices"
	"testing"

	"airtide/internal/tcp"
)

// openedScene is that of a connection without data whose handshake took some time.
func openedScene(t *testing.T, handshakeNs int64) *scene {
	t.Helper()
	s := newScene(t, Options{})
	s.set(values{tcp.SentBytes: 0, tcp.WrittenBytes: 0, tcp.InFlightPackets: 0})
	if err := s.engine.Flow(&s.flow); err != nil {
		t.Fatal(err)
	}
	s.now += handshakeNs
	s.event(tcp.Event{Kind: tcp.EventOpen, From: uint8(tcp.StateSynSent), To: uint8(tcp.StateEstablished)})
	return s
}

// The end of a short connection takes the time behind the first FIN with all data acknowledged.
func TestTheEndOfAShortConnection(t *testing.T) {
	s := openedScene(t, 10*ms)
	s.now -= 10 * ms
	s.run(10*ms, nil)
	s.set(values{tcp.SentBytes: 500, tcp.WrittenBytes: 500})
	s.run(10*ms, nil)
	s.set(values{tcp.StateField: int64(tcp.StateFinWait1)})
	s.run(10*ms, nil) // data is outstanding
	s.set(values{tcp.AckedBytes: 501, tcp.SentBytes: 501, tcp.StateField: int64(tcp.StateFinWait2)})
	s.run(10*ms, nil)
	s.now += 60 * ms
	s.event(tcp.Event{Kind: tcp.EventClose, Reason: tcp.ReasonLocalFIN})
	got := s.only()
	want := []Share{{Teardown, 0.6}, {RoundTrips, 0.3}, {Handshake, 0.1}}
	if got.Direction != "short" || got.Limit != Teardown || got.Seconds != 0.1 ||
		!slices.EqualFunc(got.Shares, want, func(a, b Share) bool {
			return a.Limit == b.Limit && a.Share > b.Share-0.001 && a.Share < b.Share+0.001
		}) {
		t.Errorf("%s, %s in %g s: %v", got.Direction, got.Limit, got.Seconds, got.Shares)
	}
}

// A handshake of which the SYN was lost takes a second, and the connection is short all the same.
func TestAShortConnectionWithALongHandshake(t *testing.T) {
	s := openedScene(t, 1050*ms)
	s.run(10*ms, nil)
	s.set(values{tcp.AckedBytes: 500, tcp.SentBytes: 500, tcp.WrittenBytes: 500})
	s.run(10*ms, nil)
	s.event(tcp.Event{Kind: tcp.EventClose, Reason: tcp.ReasonLocalFIN})
	if got := s.only(); got.Direction != "short" || got.Limit != Handshake {
		t.Errorf("%s, %s: %v", got.Direction, got.Limit, got.Shares)
	}
}

// Polls do not show how the time of a short connection was spent.
func TestPolledShortConnections(t *testing.T) {
	got := whole(t, Polled, func(s *scene) {
		s.run(10*ms, nil)
		s.event(tcp.Event{Kind: tcp.EventOpen, From: uint8(tcp.StateSynSent), To: uint8(tcp.StateEstablished)})
		s.event(tcp.Event{Kind: tcp.EventClose, Reason: tcp.ReasonLocalFIN})
	})
	if got.Direction != "short" || len(got.Shares) != 1 || got.Shares[0].Limit != Unknown || got.Certainty != Guess {
		t.Errorf("%s: %v, %s", got.Direction, got.Shares, got.Certainty)
	}
}
