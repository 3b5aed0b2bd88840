package timewarp

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
)

// leave makes the fake look as if the process of a run had been killed in the middle.
func leave(t *testing.T, f *fake) {
	t.Helper()
	if err := f.load(f.module, true); err != nil {
		t.Fatal(err)
	}
	f.clocks("1001000 1001000")
	if _, err := f.set(Ratio{10, 1}, TCP{}); err != nil {
		t.Fatal(err)
	}
	f.clocks("1000001000 10000001000")
}

func TestTheNextStartTakesBackWhatAKilledProcessLeft(t *testing.T) {
	for name, start := range map[string]func(*fake) (*Undone, error){
		"load": func(f *fake) (*Undone, error) { return f.Load(f.module) },
		"set": func(f *fake) (*Undone, error) {
			c, err := f.Set(One, TCP{})
			if err == nil {
				return c.Left, errors.New("set went on with the module unloaded")
			}
			return c.Left, nil
		},
		"unload": (*fake).unloadLeft,
	} {
		f := newFake(t)
		if err := f.writeNothing(); err != nil {
			t.Fatal(err)
		}
		leave(t, f)
		if s, err := f.Status(); err != nil || !s.Left || s.Running {
			t.Errorf("%s: status %+v, %v", name, s, err)
		}
		left, err := start(f)
		if err != nil || left == nil || left.AheadNs != 9e9 || f.setBackNs != 9e9 || f.unloadings != 1 {
			t.Errorf("%s: %+v, %v, date set back by %d, %d unloadings", name, left, err, f.setBackNs, f.unloadings)
		}
	}
}

func (f *fake) unloadLeft() (*Undone, error) { return f.Unload() }

// writeNothing makes the folder of the state by an empty round.
func (f *fake) writeNothing() error {
	lock, err := f.lock()
	if err != nil {
		return err
	}
	return lock.Close()
}

func TestACrashBeforeTheModuleWasLoadedLeavesNothing(t *testing.T) {
	f := newFake(t)
	if err := f.writeNothing(); err != nil {
		t.Fatal(err)
	}
	if err := f.writeState(&state{Before: "tsc", Temporary: true}); err != nil {
		t.Fatal(err)
	}
	if left, err := f.Load(f.module); err != nil || left == nil || left.AheadNs != 0 || f.setBackNs != 0 {
		t.Errorf("%+v, %v", left, err)
	}
}

func TestUnloadWithoutAStateSelectsTheBestClockSource(t *testing.T) {
	f := newFake(t)
	f.write(f.parameter("ratio"), "10\n")
	f.clocks("5 50")
	f.write(f.clockSource("current_clocksource"), "timewarp\n")
	f.write(f.clockSource("available_clocksource"), "hpet timewarp \n")
	u, err := f.Unload()
	if err != nil || u.ClockSource != "hpet" || f.setBackNs != 0 {
		t.Errorf("%+v, %v, date set back by %d", u, err, f.setBackNs)
	}
}

func TestAClockSourceThatAnotherSelectedIsLeft(t *testing.T) {
	f := newLoaded(t)
	f.writePacing()
	if _, err := f.Set(Ratio{10, 1}, TCP{}); err != nil {
		t.Fatal(err)
	}
	f.write(f.clockSource("current_clocksource"), "acpi_pm\n")
	f.write(f.parameter("ratio"), "1\n") // as the module does by itself
	var text strings.Builder
	if s, err := f.Status(); err != nil || !s.Stays || s.WriteText(&text) != nil || !strings.Contains(
		text.String(), "stays until: airtide timewarp unload",
	) {
		t.Errorf("status %+v, %v, %s", s, err, &text)
	}
	// A refused set takes back what stayed.
	f.writeRatioFile = func(string, string) error { return unix.EBUSY }
	_, err := f.Set(Ratio{2, 1}, TCP{})
	if err == nil || !strings.Contains(err.Error(), "acpi_pm") || f.bursts() != "200 120 -" {
		t.Errorf("a ratio without effect gives %v, bursts are %s", err, f.bursts())
	}
	f.writeRatioFile = file.Set
	if s, err := f.Status(); err != nil || s.Stays {
		t.Errorf("status %+v, %v", s, err)
	}
	if u, err := f.Unload(); err != nil || u.ClockSource != "acpi_pm" {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestTheLockTellsARunningProcess(t *testing.T) {
	f := newFake(t)
	lock, err := f.lock()
	if err != nil {
		t.Fatal(err)
	}
	leave(t, f)
	if s, err := f.Status(); err != nil || !s.Running || s.Left {
		t.Errorf("status %+v, %v", s, err)
	}
	for what, do := range map[string]func() error{
		"load":   func() error { _, err := f.Load(f.module); return err },
		"set":    func() error { _, err := f.Set(One, TCP{}); return err },
		"unload": func() error { _, err := f.Unload(); return err },
		"run": func() error {
			_, err := f.Run(t.Context(), RunOptions{Ratio: One, Command: []string{"true"}})
			return err
		},
	} {
		if err := do(); !errors.Is(err, ErrBusy) {
			t.Errorf("%s gives: %v", what, err)
		}
	}
	lock.Close()
	if _, err := f.Unload(); err != nil {
		t.Error(err)
	}
	f.mustBeGone()
}

func TestADamagedStateSaysWhatToDo(t *testing.T) {
	f := newFake(t)
	f.write(f.statePath(), `{"clock_source_before": "ts`)
	for what, err := range map[string]error{
		"unload": func() error { _, err := f.Unload(); return err }(),
		"load":   func() error { _, err := f.Load(f.module); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), f.statePath()) || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s gives: %v", what, err)
		}
	}
}
