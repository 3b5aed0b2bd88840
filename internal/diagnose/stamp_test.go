package diagnose

import (
	"slices"
	"testing"

	"airtide/internal/tcp"
)

// Timestamps tell from one end which way packets wait. Their clocks wrap, and a peer whose clock
// has another tick tells nothing.
func TestTimestampsSplitTheDelay(t *testing.T) {
	for _, c := range []struct {
		name                  string
		want                  Limit
		dataMs, ackMs, tickHz int64
	}{
		{"acknowledgements wait", AckBacklog, 0, 200, 1000},
		{"data waits", NetworkQueue, 200, 0, 1000},
		{"another tick", NetworkQueue, 0, 200, 100},
		{"a fast clock", NetworkQueue, 0, 200, 1150},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, Options{})
			stamp := func(i, dataMs, ackMs int64) {
				now := s.now / ms
				rtt := 40 + dataMs + ackMs
				s.sends(3)
				s.set(values{
					tcp.RttUs: 1000 * rtt, tcp.SrttUs: 1000 * rtt,
					tcp.PeerTimestamp:   int64(uint32((now-20-ackMs)*c.tickHz/1000 + 1<<32 - t0/ms - 500)),
					tcp.EchoedTimestamp: int64(uint32(now - rtt - t0/ms + 1<<32 - 900)),
				})
			}
			s.run(0.5e9, func(i int64) { stamp(i, 0, 0) })
			s.run(5e9, func(i int64) { stamp(i, c.dataMs, c.ackMs) })
			got := s.only()
			if got.Limit != c.want {
				t.Errorf("the limit is %s, want %s: %v", got.Limit, c.want, got.Evidence)
			}
			if got.Limit == NetworkQueue && c.tickHz != 1000 && !slices.Contains(got.Or, AckBacklog) {
				t.Errorf("without delays of both ways, acknowledgements may wait: or %v", got.Or)
			}
			told := slices.ContainsFunc(got.Evidence, func(e Evidence) bool { return e.Field == "peer_timestamp" })
			if told != (c.tickHz == 1000) {
				t.Errorf("evidence %v", got.Evidence)
			}
		})
	}
}
