package share

import (
	"testing"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/share/hold"
	"airtide/internal/share/message"
	"airtide/internal/tcp"
)

// TestWindowsOfATurn adapts bounds of one flow that sends and one that receives.
func TestWindowsOfATurn(t *testing.T) {
	const now = time.Minute
	for _, c := range []struct {
		what  string
		phase control.Phase
		ended time.Duration // when a turn ended
		send  hold.Bound
		bytes uint32
	}{
		{"no turn", control.Phase{}, 0, hold.Bound{Packets: 100}, 50 * 1448},
		{"alone", control.Phase{Kind: message.Solo, Own: true}, 0, hold.Bound{Packets: 400, Least: 400}, 200 * 1448},
		{"another is alone", control.Phase{Kind: message.Solo}, 0, hold.Bound{Packets: 100, Pause: true}, 1448},
		{"all hold back", control.Phase{Kind: message.Still}, 0, hold.Bound{Packets: stillPackets}, stillPackets * 1448},
		{"just after a turn", control.Phase{}, now - resumeFor/2, hold.Bound{Packets: 100, Least: 100}, 50 * 1448},
		{"long after a turn", control.Phase{}, now - 2*resumeFor, hold.Bound{Packets: 100}, 50 * 1448},
	} {
		s := &self{maximum: 100e6, flows: map[tcp.FlowID]*flow{2: {mss: 1448}}}
		b := bounds{up: []hold.Bound{{Packets: 100}}, down: map[tcp.FlowID]uint32{2: 50 * 1448}}
		(&together{phase: c.phase, resumed: c.ended}).adapt(now, &b, s)
		if b.up[0] != c.send || b.down[2] != c.bytes {
			t.Errorf("%s: %+v, %d bytes", c.what, b.up[0], b.down[2])
		}
	}
	// Who has less already is not given more to hold back with.
	small := bounds{up: []hold.Bound{{Packets: control.LeastWindow}}, down: map[tcp.FlowID]uint32{2: control.LeastWindow * 1448}}
	(&together{phase: control.Phase{Kind: message.Still}}).adapt(now, &small, &self{maximum: 100e6, flows: map[tcp.FlowID]*flow{2: {mss: 1448}}})
	if small.up[0].Packets != control.LeastWindow || small.down[2] != control.LeastWindow*1448 {
		t.Errorf("small windows that hold back: %+v, %d bytes", small.up[0], small.down[2])
	}
	// What it reaches alone is not known: no less than an A-MPDU, of both together.
	s := &self{flows: map[tcp.FlowID]*flow{2: {mss: 1448}}}
	b := bounds{up: []hold.Bound{{Packets: 10}}, down: map[tcp.FlowID]uint32{2: 10 * 1448}}
	(&together{}).adapt(now, &b, s)
	if b.up[0].Packets != unknownPackets/2 || b.down[2] != unknownPackets/2*1448 {
		t.Errorf("unknown maximum: %+v, %d bytes", b.up[0], b.down[2])
	}
}
