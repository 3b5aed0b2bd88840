package plan

import (
	"strings"
	"testing"
)

// guests has a terminal in a virtual machine.
const guests = `name: guests
duration: 10 s
terminals:
  phone: {profile: nexus7-2013, kind: vm, kernel: 6.12, time: {ratio: 5/2, rto: paper}}
  other: {link: ethernet, kind: vm}
  plain: {link: ethernet}
servers: {server: {}}
flows:
  up: {from: terminals, to: server, protocol: transfers}
`

func TestATerminalInAVirtualMachine(t *testing.T) {
	p := read(t, guests)
	terminals := p.Points[0].Setup.Terminals
	phone := terminals[0].Guest
	other := terminals[1].Guest
	plain := terminals[2].Guest
	if phone == nil || *phone != (GuestSetup{"6.12", Time{"5/2", "paper", ClockTime}}) ||
		phone.Time.Ratio.Value() != 2.5 {
		t.Errorf("phone is %+v", phone)
	}
	if other == nil || *other != (GuestSetup{Kernel: "6.1"}) || other.Time.Ratio.Value() != 1 {
		t.Errorf("other is %+v", other)
	}
	if plain != nil {
		t.Errorf("plain is %+v", plain)
	}
	for _, c := range []struct{ name, change, to, want string }{
		{"kernel", "6.12", "6.13", `terminals.phone.kernel: found "6.13", expected one of: 5.10, 6.1, 6.12`},
		{"ratio", "5/2", "0", `terminals.phone.time.ratio: found "0", expected how many times as fast`},
		{"ratio too great", "5/2", "1001", `expected how many times as fast as real time, 1/10 to 1000`},
		{"ratio that is none", "5/2", "fast", `found "fast", expected how many times`},
		{"ratio by nothing", "5/2", "5/0", `found "5/0", expected how many times`},
		{"time without ratio", "ratio: 5/2, ", "", `terminals.phone.time: found a time without a ratio`},
		{
			"time of a namespace", "kind: vm, kernel: 6.12, ", "",
			`terminals.phone.time: found a time for a terminal in a namespace`,
		},
		{"rto", "rto: paper", "rto: long", `found "long", expected one of: bounds, paper, none`},
		{
			"a flow to it", "from: terminals, to: server", "from: server, to: other",
			`flows.up.to: found a flow to the virtual machine other`,
		},
		{
			"a flow's congestion", "protocol: transfers", "protocol: transfers, congestion: reno",
			`flows.up.congestion: found a flow's own congestion control on the virtual machine`,
		},
		{
			"congestion", "kind: vm}", "kind: vm, congestion: cubic_rtt}",
			`terminals.other.congestion: found cubic_rtt on a virtual machine`,
		},
		{
			"sharing", "kind: vm}", "kind: vm, share: {policy: shares}}",
			`terminals.other.share: found an agent on a virtual machine`,
		},
	} {
		_, err := Read(t.Context(), "guests.yaml", []byte(strings.Replace(guests, c.change, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if c, err := ReadCell("guests.yaml", []byte(guests)); err != nil || c.Setup.Terminals[0].Guest != nil {
		t.Errorf("a cell by itself has %+v, %v", c, err)
	}
}

func TestStalls(t *testing.T) {
	p := read(t, minimal+`
duration: 2500 ms
path:
  rtt: 20 ms
  stalls: {every: 1 s, length: 100 ms}
  schedule:
    - {at: 1050 ms, rtt: 40 ms}
    - {at: 1500 ms, rtt: 60 ms}
`)
	const ms = Duration(1e6)
	delayAt := func(steps []LineStep, at Duration) (delay Duration) {
		for _, s := range steps {
			if s.At <= at {
				delay = s.Line.Delay
			}
		}
		return delay
	}
	terminal := p.Points[0].Setup.Terminals[0]
	for _, steps := range [][]LineStep{terminal.Up, terminal.Down} {
		for i := 1; i < len(steps); i++ {
			if steps[i].At <= steps[i-1].At {
				t.Errorf("steps at %s and then at %s", steps[i-1].At, steps[i].At)
			}
		}
		for at, want := range map[Duration]Duration{
			0: 10 * ms, 999 * ms: 10 * ms, 1000 * ms: 110 * ms, 1040 * ms: 70 * ms, 1055 * ms: 70 * ms,
			1095 * ms: 30 * ms, 1100 * ms: 20 * ms,
			1499 * ms: 20 * ms, 1500 * ms: 30 * ms, 2000 * ms: 130 * ms, 2100 * ms: 30 * ms, 2499 * ms: 30 * ms,
		} {
			if got := delayAt(steps, at); got != want {
				t.Errorf("a packet that enters at %s is delayed by %s, want %s", at, got, want)
			}
		}
	}
	for change, want := range map[string]string{
		"every: 1 s, length: 100 ms": "path.stalls.length: found 1 s, expected less than the time from one to the next",
		"length: 100 ms":             "path.stalls: found stalls without every or length",
		"every: 1 s, ":               "path.stalls: found stalls without every or length",
	} {
		to := map[string]string{"every: 1 s, length: 100 ms": "every: 1 s, length: 1 s"}[change]
		text := minimal + "path: {stalls: {" + strings.Replace("every: 1 s, length: 100 ms", change, to, 1) + "}}"
		if _, err := Read(t.Context(), "", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", change, err)
		}
	}
}
