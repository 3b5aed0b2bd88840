package diagnose

import (
	"bufio"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

// The waits in the sender's host are told where they were recorded. A flag holds until the next
// sample.
func TestWaitsInTheOwnHostAreToldWhereRecorded(t *testing.T) {
	s := newScene(t, Options{})
	s.run(1e9, func(int64) { s.sends(5) })
	if w := s.only().Waits; w != nil {
		t.Errorf("waits without a record of them: %v", w)
	}
	s = newScene(t, Options{})
	s.set(values{tcp.WriterBlocked: 0, tcp.DeviceThrottled: 0})
	s.run(5e9, func(i int64) {
		s.sends(5)
		s.set(values{tcp.WriterBlocked: min(1, i%4), tcp.DeviceThrottled: min(1, 1-min(1, i%10))})
		s.set(values{tcp.DeviceWaitUs: tcp.Absent})
		if i%2 == 0 {
			s.set(values{tcp.DeviceWaitUs: 4000 + 100*i})
		}
	})
	w := s.only().Waits
	if w == nil {
		t.Fatal("no waits")
	}
	want := "a write waited for room in the send buffer 75% of the time, TCP for its own packets at the device 10%; " +
		"packets waited 28.9 ms for the device, at most 53.8 ms"
	if got := w.String(); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	var text strings.Builder
	r := s.engine.Report()
	if err := r.WriteText(&text, true); err != nil || !strings.Contains(text.String(), "waits      "+want) {
		t.Errorf("the text lacks the waits: %v\n%s", err, &text)
	}
}

// A fast transfer does not last 0.0 s.
func TestTextTellsShortTimes(t *testing.T) {
	for seconds, want := range map[float64]string{0.0147: "in 14.7 ms, ", 0.95: "in 950 ms, ", 12.34: "in 12.3 s, "} {
		c := Connection{Seconds: seconds, AckedBytes: 8_000_000, Shares: []Share{{Unknown, 1}}}
		var text strings.Builder
		out := bufio.NewWriter(&text)
		c.write(out)
		if err := out.Flush(); err != nil || !strings.Contains(text.String(), want) {
			t.Errorf("%g s: %v, %s", seconds, err, &text)
		}
	}
}
