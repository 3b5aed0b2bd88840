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
	told := Config{StandaloneBps: 100e6}
	f := &flow.Flow{MSS: 1448}
	override := func(c *Core, packets, bytes uint32) (SendBound, uint32) {
		b := bounds{send: []SendBound{{Packets: packets}}, receive: []receiveBound{{f, bytes}}}
		c.probeWindows(now).override(&b)
		return b.send[0], b.receive[0].bytes
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
			"own rate probe",
			probe.Active{Kind: message.RateProbe, Own: true},
			0,
			SendBound{Packets: 400, Least: 400},
			200 * 1448,
		},
		{"another's rate probe", probe.Active{Kind: message.RateProbe}, 0, SendBound{Packets: 100, Pause: true}, 1448},
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
		core := &Core{config: told, probe: probeState{active: c.active, ended: c.ended}}
		if send, bytes := override(core, 100, 50*1448); send != c.send || bytes != c.bytes {
			t.Errorf("%s: %+v, %d bytes", c.what, send, bytes)
		}
	}
	// A window that is smaller already does not grow in an RTT probe.
	core := &Core{config: told, probe: probeState{active: probe.Active{Kind: message.RTTProbe}}}
	send, bytes := override(core, LeastWindow, LeastWindow*1448)
	if send.Packets != LeastWindow || bytes != LeastWindow*1448 {
		t.Errorf("small windows in an RTT probe: %+v, %d bytes", send, bytes)
	}
	// While the standalone rate is unknown, both together hold an A-MPDU at least.
	send, bytes = override(&Core{}, 10, 10*1448)
	if send.Packets != unknownPackets/2 || bytes != unknownPackets/2*1448 {
		t.Errorf("unknown standalone rate: %+v, %d bytes", send, bytes)
	}
}
