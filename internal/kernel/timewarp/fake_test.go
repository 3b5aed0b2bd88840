package timewarp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
	"airtide/test/testmodule"
)

// fake is a kernel of files: what the module would do to /sys is done by its functions.
type fake struct {
	*Kernel
	t          testing.TB
	module     string // a file that passes for the module
	refused    error  // result of loading
	setBackNs  int64  // ns by which the date was set back
	unloadings int
	initialRTO uint64 // address that the BPF program reads; 0 while none is attached
	noBPF      error  // result of attaching it
	cubic      Ratio  // ratio of the loaded CUBIC; zero while none is
	noCubic    error  // result of loading one
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := fakeIn(t, t.TempDir())
	f.write(f.defaultCC(), "reno\n")
	f.write(f.clockSource("current_clocksource"), "tsc\n")
	f.write(f.clockSource("available_clocksource"), "tsc hpet acpi_pm \n")
	f.write(filepath.Join(f.proc, "net/snmp"), "Ip: A\nIp: 1\nTcp: RtoMin MaxConn RetransSegs\nTcp: 200 -1 5\n")
	f.write(filepath.Join(f.proc, "net/netstat"),
		"TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 0 3\nIpExt: B\nIpExt: 2\n")
	for i, file := range f.watchdogFiles() {
		f.write(file, strings.Fields(usualWatchdogs)[i]+"\n")
	}
	writeModule(t, f.module, Release())
	return f
}

// fakeIn is one of the files in a folder, which several processes may have.
func fakeIn(t testing.TB, dir string) *fake {
	f := &fake{t: t, module: filepath.Join(dir, "timewarp.ko")}
	f.Kernel = &Kernel{
		sys: filepath.Join(dir, "sys"), proc: filepath.Join(dir, "proc"), state: filepath.Join(dir, "run"),
		finitModule: f.finit, deleteModule: f.delete,
		setDate:          func(ns int64) (bool, error) { f.setBackNs = ns; return true, nil },
		attachInitialRTO: func(at uint64) error { f.initialRTO = at; return f.noBPF },
		detachInitialRTO: func() error { f.initialRTO = 0; return nil },
		loadCubic:        func(r Ratio) error { f.cubic = r; return f.noCubic },
		unloadCubic:      func() error { f.cubic = Ratio{}; return nil },
		writeClockSource: file.Set, writeRatioFile: file.Set,
	}
	return f
}

// newLoaded is one with the module loaded.
func newLoaded(t *testing.T) *fake {
	t.Helper()
	f := newFake(t)
	if _, err := f.Load(f.module); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fake) write(path, text string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fake) read(path string) string {
	f.t.Helper()
	text, err := file.Line(path)
	if err != nil {
		f.t.Fatal(err)
	}
	return text
}

func (f *fake) finit(fd int, _ string, _ int) error {
	switch {
	case fd < 0:
		return unix.EBADF
	case f.refused != nil:
		return f.refused
	}
	f.write(f.parameter("ratio"), "1\n")
	f.write(f.parameter("rto"), "none\n")
	f.write(f.parameter("initial_rto_at"), "4711\n")
	f.clocks("1000 1000")
	return nil
}

func (f *fake) delete(string, int) error {
	f.unloadings++
	return os.RemoveAll(filepath.Dir(filepath.Dir(f.parameter("ratio"))))
}

// clocks sets what the module says of the real and the warped clock, in ns.
func (f *fake) clocks(text string) { f.write(f.parameter("now"), text+"\n") }

// mustBeGone checks that nothing is left of the module.
func (f *fake) mustBeGone() {
	f.t.Helper()
	if f.Loaded() || f.unloadings == 0 {
		f.t.Error("the module is still loaded")
	}
	if now := f.read(f.clockSource("current_clocksource")); now != "tsc" {
		f.t.Errorf("the clock source is %s", now)
	}
	if got := f.readWatchdogValues(); got != usualWatchdogs {
		f.t.Errorf("watchdogs are %s", got)
	}
	if cc := f.read(f.defaultCC()); f.initialRTO != 0 || f.cubic != (Ratio{}) || cc != "reno" {
		f.t.Errorf("a BPF program at %d, a CUBIC for %v, congestion control %s are left", f.initialRTO, f.cubic, cc)
	}
	if _, err := os.Stat(f.statePath()); !os.IsNotExist(err) {
		f.t.Errorf("the state is still there: %v", err)
	}
}

// usualWatchdogs holds the fake's values at ratio 1: the timeouts for hung tasks and for stalls of
// RCU, whether stalls are suppressed, the timeout for lockups, and whether the kernel looks for
// hard and for soft ones.
const usualWatchdogs = "120 21 0 10 1 1"

// watchdogFiles are those of usualWatchdogs.
func (f *fake) watchdogFiles() []string {
	w := f.watchdogs()
	return []string{
		filepath.Join(f.proc, "sys/kernel/hung_task_timeout_secs"), w.stall, w.suppressStall, w.lockup, w.hard,
		w.soft,
	}
}

// readWatchdogValues returns their present values.
func (f *fake) readWatchdogValues() string {
	var all []string
	for _, file := range f.watchdogFiles() {
		all = append(all, f.read(file))
	}
	return strings.Join(all, " ")
}

// writeModule writes what passes for a module that was built for a kernel.
func writeModule(t *testing.T, path, release string) {
	t.Helper()
	testmodule.Write(t, path, "license=GPL v2", "vermagic="+release+" SMP preempt mod_unload ",
		sourcesKey+"="+sourcesHash())
}
