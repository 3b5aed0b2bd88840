//go:build guest

package run

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/lab/result"
	"airtide/internal/recording/trace"
	"airtide/internal/vm"
	"airtide/test/need"
)

// withGuest has a terminal in a virtual machine beside one in a namespace.
const withGuest = `
name: guest
duration: 12 s
terminals:
  phone:
    profile: linux-today
    kind: vm
    radio: {standard: n, phy_rate: 72.2 Mbit/s}
    initial_window: 4
    send_buffer: {min: 4096 B, default: 65536 B, max: 131072 B}
  board: {link: ethernet}
servers:
  server: {profile: linux-today}
path: {rate: 50 Mbit/s, rtt: 10 ms}
flows:
  upload: {from: phone, to: server, protocol: tcp, rate: 2 Mbit/s}
  download: {from: phone, to: server, protocol: tcp, direction: reverse, rate: 2 Mbit/s}
  datagrams: {from: phone, to: server, protocol: udp, rate: 1 Mbit/s}
  send: {from: phone, to: server, protocol: transfers, size: 100 kB}
  echo: {from: phone, to: server, protocol: ping}
  wired: {from: board, to: server, protocol: tcp, rate: 1 Mbit/s}
record: {tcp: all, packets: phone}
measure:
  goodput: {quantity: goodput, take: each}
  echo: {quantity: ping_rtt}
  srtt: {quantity: srtt, flows: [upload, download, send], take: each}
  errors: {quantity: tcp_errors, take: each}
  transfers: {quantity: transfers}
  took: {quantity: completion_time}
`

// needsGuests skips a test where virtual machines cannot be had.
func needsGuests(t *testing.T) vm.Kernel {
	t.Helper()
	need.Guest(t)
	k, err := vm.Cached("6.1")
	if errors.Is(err, vm.ErrNoKernel) {
		k, err = vm.Fetch(t.Context(), "6.1")
		if err != nil {
			t.Fatal(err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestATerminalInAVirtualMachine(t *testing.T) {
	o := newLab(t)
	needsGuests(t)
	r := guestRun(t, o, withGuest)
	for name, value := range map[string]float64{
		"echo": r.Measurements["echo"].Values[0], "took": r.Measurements["took"].Values[0],
		"transfers": r.Measurements["transfers"].Values[0],
	} {
		if !(value > 0) {
			t.Errorf("%s is %g", name, value)
		}
	}
	for _, name := range []string{"goodput", "srtt", "errors"} {
		m := r.Measurements[name]
		for i, v := range m.Values {
			if math.IsNaN(v) || v == 0 && name != "errors" {
				t.Errorf("%s of %s is %g", name, m.Of[i], v)
			}
		}
	}
	phone := r.Machines[0]
	if phone.Kernel == "" || phone.Accelerator == "" || phone.Sysctls["net.ipv4.tcp_wmem"] != "4096 65536 131072" ||
		phone.Counters == nil {
		t.Errorf("the phone is said to have %+v", phone)
	}
	if other := r.Machines[1]; other.Kernel != "" || other.Counters == nil {
		t.Errorf("the board is said to have %+v", other)
	}
	if len(r.Recordings) != 3 || r.Recordings[0].Clock < 0.99 || r.Recordings[0].Clock > 1.01 {
		t.Errorf("recordings %+v", r.Recordings)
	}
}

// needsModule skips a test where the module for a guest's clock is not there, and what builds it
// cannot be had.
func needsModule(t *testing.T, k vm.Kernel) {
	t.Helper()
	if _, err := timewarp.FindModule(k.Release); err == nil {
		return
	}
	for _, program := range []string{"make", "gcc"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := vm.FetchHeaders(t.Context(), "6.1"); err != nil {
		t.Fatal(err)
	}
}

// TestAFasterClock has the module for the guest's kernel built, where that was not done before.
func TestAFasterClock(t *testing.T) {
	o := newLab(t)
	needsModule(t, needsGuests(t))
	r := guestRun(t, o, `
name: faster
duration: 12 s
terminals:
  phone: {link: ethernet, kind: vm, time: {ratio: 5}}
servers: {server: {}}
path: {rate: 50 Mbit/s, rtt: 40 ms}
flows:
  upload: {from: phone, to: server, protocol: tcp, rate: 2 Mbit/s}
  send: {from: phone, to: server, protocol: transfers, size: 100 kB}
  echo: {from: phone, to: server, protocol: ping}
record: {tcp: phone}
measure:
  goodput: {quantity: goodput, flows: upload}
  echo: {quantity: ping_rtt}
  srtt: {quantity: srtt, flows: upload}
  took: {quantity: completion_time}
  transfers: {quantity: transfers}
`)
	if clock := r.Recordings[0].Clock; math.Abs(clock-5) > 0.05 || r.Machines[0].Clock != clock {
		t.Errorf("the clock ran %g times as fast, and the machine's is said to be %g", clock, r.Machines[0].Clock)
	}
	// All is in real time: a path of 40 ms cannot be faster, and five times as much would be said
	// if it were not.
	for name, least := range map[string]float64{"echo": 40, "srtt": 40, "goodput": 1} {
		if v := r.Measurements[name].Values[0]; !(v >= least && v < 4*least) {
			t.Errorf("%s is %g, want %g or somewhat more", name, v, least)
		}
	}
	// How long a transfer takes is the emulated processor's doing as well; but one comes after the
	// other.
	took := r.Measurements["took"].Values[0]
	transfers := r.Measurements["transfers"].Values[0]
	if !(took >= 0.08 && transfers > 0 && took*transfers < 13) {
		t.Errorf("%g transfers of %g s in 12 s", transfers, took)
	}
	if pings := r.Flows[2].Pings; pings.Sent < 40 || pings.Sent > 80 {
		t.Errorf("%d echo requests in 12 s", pings.Sent)
	}
}

// guestRun runs an experiment of one run, and checks that its files are there and whole. A
// complaint of a guest's kernel fails the run.
func guestRun(t *testing.T, o Options, text string) *result.Result {
	t.Helper()
	out, err := Run(t.Context(), t.TempDir(), planOf(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Read(filepath.Join(out.Dir, "runs", "r=1", "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(r.Recordings, r.Captures...) {
		path := filepath.Join(out.Dir, "runs", "r=1", f.Name)
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s is not there, or empty: %v", f.Name, err)
		}
		if filepath.Ext(path) != ".atr" {
			continue
		}
		recording, err := trace.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if source := recording.Metadata().Source; source != "bpf" {
			t.Errorf("%s was recorded by %s", f.Name, source)
		}
		if err := recording.Close(); err != nil {
			t.Error(err)
		}
	}
	return r
}
