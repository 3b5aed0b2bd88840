package timewarp

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/test/testmodule"
)

func TestLoadSetUnload(t *testing.T) {
	f := newFake(t)
	if left, err := f.Load(f.module); err != nil || left != nil {
		t.Fatalf("loading: %v, %v", left, err)
	}
	f.clocks("2000000000 2000000000")
	if _, err := f.Set(Ratio{5, 2}, TCP{}); err != nil {
		t.Fatal(err)
	}
	if got := f.read(f.parameter("ratio")); got != "5/2" {
		t.Errorf("the module was told %q", got)
	}
	f.clocks("4000000000 7000000000")
	s, err := f.Status()
	if err != nil {
		t.Fatal(err)
	}
	want := Status{
		Loaded: true, Selected: true, Ratio: Ratio{5, 2}, RTO: RTOBounds, ClockSource: "timewarp", Before: "tsc",
		RealNs: 2e9, WarpedNs: 5e9, AheadNs: 3e9,
	}
	if *s != want {
		t.Errorf("status %+v, want %+v", *s, want)
	}
	var text bytes.Buffer
	if err := s.WriteText(&text); err != nil || !strings.Contains(
		text.String(), "since 2s of real time, 5s of the clock",
	) {
		t.Errorf("%v: %s", err, &text)
	}
	u, err := f.Unload()
	if err != nil {
		t.Fatal(err)
	}
	if *u != (Undone{ClockSource: "tsc", AheadNs: 3e9, DateSet: true}) || f.setBackNs != 3e9 {
		t.Errorf("undone %+v, the date set back by %d ns", *u, f.setBackNs)
	}
	f.mustBeGone()
	if _, err := f.Unload(); !errors.Is(err, ErrNothing) {
		t.Errorf("unloading again: %v", err)
	}
}

func TestWhatCannotBeLoadedSaysWhy(t *testing.T) {
	for refused, want := range map[error]string{
		unix.EEXIST: "loaded already", unix.ENODEV: "tsc=reliable", unix.EOPNOTSUPP: "nohz=off",
		unix.ENOEXEC:      "another kernel",
		unix.EKEYREJECTED: "signed", unix.ENOENT: "dmesg", unix.ENOMEM: "dmesg",
	} {
		f := newFake(t)
		f.refused = refused
		if _, err := f.Load(f.module); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v gives: %v", refused, err)
		}
		if _, err := os.Stat(f.statePath()); !os.IsNotExist(err) {
			t.Errorf("%v leaves a state", refused)
		}
	}
	f := newFake(t)
	writeModule(t, f.module, "5.4.0-other")
	if _, err := f.Load(f.module); err == nil || !strings.Contains(err.Error(), "was built for kernel 5.4.0-other") {
		t.Errorf("another kernel's module gives: %v", err)
	}
	testmodule.Write(t, f.module, "vermagic="+Release()+" SMP ", sourcesKey+"=0123456789abcdef")
	if _, err := f.Load(f.module); err == nil || !strings.Contains(err.Error(), "other sources") || !strings.Contains(
		err.Error(), "airtide timewarp build",
	) {
		t.Errorf("a module of other sources gives: %v", err)
	}
	f.write(f.module, "no ELF file at all")
	if _, err := f.Load(f.module); err == nil || !strings.Contains(err.Error(), "no kernel module") {
		t.Errorf("a text gives: %v", err)
	}
	if _, err := f.Load(filepath.Join(f.sys, "absent.ko")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file gives: %v", err)
	}
	if _, err := FindModule("0.0.0-none"); err == nil || !strings.Contains(err.Error(), "airtide timewarp build") {
		t.Errorf("a module that was not built gives: %v", err)
	}
}

func TestWatchdogsFollowTheRatio(t *testing.T) {
	f := newLoaded(t)
	for _, c := range []struct {
		ratio Ratio
		want  string
	}{
		{Ratio{10, 1}, "1200 210 0 10 0 1"}, // lockups after 100 s are more than the kernel takes
		{Ratio{5, 2}, "360 63 0 30 1 1"},
		{Ratio{6, 1}, "720 126 0 60 1 1"},
		{Ratio{100, 1}, "12000 300 1 10 0 1"},
		{Ratio{1, 4}, usualWatchdogs},
		{Ratio{1, 10}, "120 21 0 10 1 0"}, // a watchdog that looks less often finds no lockup
	} {
		if _, err := f.Set(c.ratio, TCP{}); err != nil {
			t.Fatal(err)
		}
		if got := f.readWatchdogValues(); got != c.want {
			t.Errorf("at ratio %s they are %s, want %s", c.ratio, got, c.want)
		}
	}
	if _, err := f.Unload(); err != nil {
		t.Fatal(err)
	}
	f.mustBeGone()
}

// Where the kernel cannot look for hard lockups, and says so when it is asked to, what it looks for
// is by real time.
func TestWithoutHardLockupsTheirTimeoutStays(t *testing.T) {
	f := newFake(t)
	w := f.watchdogs()
	f.write(w.hard, "0\n")
	if _, err := f.Load(f.module); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(w.hard)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Ratio{{5, 2}, {10, 1}, One} {
		if _, err := f.Set(r, TCP{}); err != nil {
			t.Fatal(err)
		}
		if got := f.read(w.lockup) + " " + f.read(w.soft); got != "10 1" {
			t.Errorf("at ratio %s they are %s", r, got)
		}
	}
	if after, err := os.Stat(w.hard); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("it was written: %v", err)
	}
}

func TestOutOfOrder(t *testing.T) {
	f := newFake(t)
	if _, err := f.Set(Ratio{2, 1}, TCP{}); err == nil || !strings.Contains(err.Error(), "not loaded") {
		t.Errorf("set before load: %v", err)
	}
	if _, err := f.Load(f.module); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(f.module); err == nil || !strings.Contains(err.Error(), "loaded already") {
		t.Errorf("load twice: %v", err)
	}
}

func TestAKernelThatDoesNotTakeTheClockSourceIsNoticed(t *testing.T) {
	f := newFake(t)
	// The kernel takes any name, and uses it when it can.
	f.writeClockSource = func(string, string) error { return nil }
	_, err := f.Load(f.module)
	if err == nil || !strings.Contains(err.Error(), "did not take clock source timewarp and keeps tsc") {
		t.Errorf("it gives: %v", err)
	}
	f.mustBeGone()
}

func TestNoModuleSupportSaysWhatStillWorks(t *testing.T) {
	f := newFake(t)
	f.finitModule = func(int, string, int) error { return unix.ENOSYS }
	_, loadErr := f.Load(f.module)
	_, setErr := f.Set(One, TCP{})
	_, statusErr := f.Status()
	_, unloadErr := f.Unload()
	_, runErr := f.Run(t.Context(), RunOptions{Ratio: One, Command: []string{"true"}})
	for _, err := range []error{loadErr, setErr, statusErr, unloadErr, runErr} {
		if !errors.Is(err, ErrNoModules) {
			t.Errorf("it gives: %v", err)
		}
	}
	text := ErrNoModules.Error()
	if !strings.Contains(text, "still works") || !strings.Contains(text, "CONFIG_MODULES") {
		t.Error(text)
	}
	f.finitModule = func(int, string, int) error { return unix.EPERM }
	if _, err := f.Load(f.module); err == nil || !strings.Contains(err.Error(), "CAP_SYS_MODULE") {
		t.Errorf("without the capability: %v", err)
	}
	f.write(filepath.Join(f.proc, "sys/kernel/modules_disabled"), "1\n")
	if _, err := f.Load(f.module); err == nil || !strings.Contains(err.Error(), "modules_disabled") {
		t.Errorf("switched off: %v", err)
	}
}
