package control

import (
	"testing"
	"time"

	"airtide/internal/share/flow"
	"airtide/internal/share/message"
	"airtide/internal/share/probe"
)

// TestWindowsOfAProbe overrides bounds of one flow that sends and one that receives.
func TestWindowsOfAProbe(t *testing.T) {
	const now = time.Minute
	f := &flow.Flow{MSS: 1448}
	override := func(p *probeState, packets, bytes uint32) (SendBound, uint32) {
		b := bounds{send: []sendBound{{SendBound{Packets: packets}, f}}, receive: []receiveBound{{f, bytes}}}
		p.override(now, &b)
		return b.send[0].SendBound, b.receive[0].bytes
	}
	for _, c := range []struct {
		what   string
		active probe.Active
		ended  time.Duration // end of a probe
		send   SendBound
		bytes  uint32
	}{
		{"no probe", probe.Active{}, 0, SendBound{Packets: 100}, 50 * 1448},
		{
			"RTT probe",
			probe.Active{Kind: message.RTTProbe},
			0,
			SendBound{Packets: rttProbePackets},
			rttProbePackets * 1448,
		},
		{"just after a probe", probe.Active{}, now - resumeTime/2, SendBound{Packets: 100, Least: 100}, 50 * 1448},
		{"long after a probe", probe.Active{}, now - 2*resumeTime, SendBound{Packets: 100}, 50 * 1448},
	} {
		state := &probeState{active: c.active, ended: c.ended}
		if send, bytes := override(state, 100, 50*1448); send != c.send || bytes != c.bytes {
			t.Errorf("%s: %+v, %d bytes", c.what, send, bytes)
		}
	}
	// A window that is smaller already does not grow in an RTT probe. One of a single packet does
	// at once, since it waits for delayed ACKs.
	for _, c := range []struct {
		packets uint32
		want    SendBound
	}{{LeastWindow, SendBound{Packets: LeastWindow}}, {1, SendBound{Packets: LeastWindow, Least: LeastWindow}}} {
		state := &probeState{active: probe.Active{Kind: message.RTTProbe}}
		send, bytes := override(state, c.packets, c.packets*1448)
		if send != c.want || bytes != LeastWindow*1448 {
			t.Errorf("a window of %d packets in an RTT probe: %+v, %d bytes", c.packets, send, bytes)
		}
	}
}
