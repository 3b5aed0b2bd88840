package diagnose

import (
	"strings"
	"testing"

	"airtide/internal/tcp"
)

// A connection that never opened says why, whatever the source shows of it, and is not idle.
func TestConnectionsThatDidNotOpen(t *testing.T) {
	synSent := uint8(tcp.StateSynSent)
	for _, c := range []struct {
		reason tcp.Reason
		want   string
	}{
		{tcp.ReasonRefused, "refused by the peer"},
		{tcp.ReasonUnreachable, "the peer's host or network cannot be reached"},
		{tcp.ReasonAborted, "given up by this end before an answer came"},
		{tcp.ReasonStillOpen, "no answer came"},
		{tcp.ReasonUnknownLeaving, "no answer came"},
	} {
		s := newScene(t, Options{})
		s.run(0, nil)
		s.now += 1000 * ms
		s.event(tcp.Event{Kind: tcp.EventTimeout, Value: 1e6})
		s.event(tcp.Event{Kind: tcp.EventRetransmit, Cause: tcp.CauseSYN, Value: 1})
		s.now += 500 * ms
		s.event(tcp.Event{Kind: tcp.EventClose, Reason: c.reason, From: synSent, To: uint8(tcp.StateClose)})
		got := s.only()
		if got.Direction != "unopened" || got.Unopened != c.want || got.Limit != Handshake ||
			got.Certainty != Certain || len(got.Shares) != 1 || len(got.Evidence) != 2 {
			t.Errorf("%s: %+v", c.reason, got)
		}
		if c.reason != tcp.ReasonStillOpen && got.Seconds != 1.5 {
			t.Errorf("%s: %v s, want 1.5", c.reason, got.Seconds)
		}
		report := s.engine.Report()
		if len(report.Doubts) > 0 {
			t.Errorf("%s: doubts %q", c.reason, report.Doubts)
		}
		var text strings.Builder
		if err := report.WriteText(&text, false); err != nil {
			t.Fatal(err)
		}
		want := "1 connection of program with invalid IP did not open: " + c.want
		if !strings.HasPrefix(text.String(), want) {
			t.Errorf("%s: %q", c.reason, text.String())
		}
	}
}

// The first samples of a connection have no pacing rate: nothing is missing. One that has
// acknowledged data must have it.
func TestMissingFields(t *testing.T) {
	s := newScene(t, Options{})
	s.set(values{tcp.PacingRateBps: tcp.Absent})
	s.run(100*ms, nil)
	if doubts := s.engine.Report().Doubts; len(doubts) > 0 {
		t.Errorf("before an acknowledgement: %q", doubts)
	}
	s.run(100*ms, func(int64) { s.sends(1) })
	if doubts := s.engine.Report().Doubts; len(doubts) != 1 || !strings.Contains(doubts[0], "lacks pacing_rate_bps,") {
		t.Errorf("after it: %q", doubts)
	}
}
