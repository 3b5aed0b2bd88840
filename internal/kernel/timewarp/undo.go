package timewarp

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Undone lists the results of an undo.
type Undone struct {
	ClockSource string `json:"clock_source"` // present clock source of the kernel
	AheadNs     int64  `json:"ahead_ns"`     // ns by which the clock was ahead of real time
	// DateSet means that the date was set back. It is not set back if an NTP program adjusts it.
	DateSet bool `json:"date_set"`
}

// Unload sets N to 1, restores the previous clock source, unloads the module and sets the date
// back, also after a crash. If there is nothing to do, the error wraps ErrNothing.
func (k *Kernel) Unload() (*Undone, error) {
	if err := k.Support(); err != nil {
		return nil, err
	}
	lock, err := k.lock()
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	s, err := k.readState()
	switch {
	case errors.Is(err, os.ErrNotExist) && !k.Loaded():
		return nil, ErrNothing
	case errors.Is(err, os.ErrNotExist):
		s = &state{}
	case err != nil:
		return nil, err
	}
	return k.undo(s)
}

// ErrNothing means that the module is not loaded.
var ErrNothing = errors.New("the module is not loaded")

// undoLeft undoes the changes of a killed process. The lock is held, so no such process is running.
func (k *Kernel) undoLeft() (*Undone, error) {
	s, err := k.readState()
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil || !s.Temporary {
		return nil, err
	}
	return k.undo(s)
}

// undo reverts all changes that were made.
func (k *Kernel) undo(s *state) (*Undone, error) {
	u := &Undone{}
	// A failure here must not prevent the repair of the clock. The state stays for another try.
	tcpErr := errors.Join(k.undoCubic(s), k.undoBursts(s), k.detachInitialRTO())
	if k.Loaded() {
		if err := k.writeRatio(One); err != nil {
			return nil, err
		}
		now, err := k.Now()
		if err != nil {
			return nil, err
		}
		u.AheadNs = int64(s.ahead(now))
		if err := k.restoreClockSource(s.Before); err != nil {
			return nil, err
		}
		if err := k.deleteModule(moduleName, unix.O_NONBLOCK); err != nil {
			return nil, fmt.Errorf("unloading the module: %w", err)
		}
		// Less is in the accuracy of both clocks.
		if time.Duration(u.AheadNs).Abs() > time.Millisecond {
			u.DateSet, err = k.setDate(u.AheadNs)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("setting the date back by %s: %w", time.Duration(u.AheadNs), err),
					k.removeState())
			}
		}
	}
	if err := k.setWatchdogs(s.Watchdogs, One); err != nil {
		return nil, err
	}
	var err error
	u.ClockSource, err = k.CurrentClockSource()
	if err != nil {
		return nil, err
	}
	if tcpErr != nil {
		return u, tcpErr
	}
	return u, k.removeState()
}

// restoreClockSource selects the previous clock source, or the best other one if it is unknown.
func (k *Kernel) restoreClockSource(before string) error {
	now, err := k.CurrentClockSource()
	if err != nil || now != moduleName {
		return err
	}
	others, err := k.otherClockSources()
	if err != nil {
		return err
	}
	if len(others) == 0 {
		return errors.New("the kernel lists no clock source besides timewarp, to which time could be given back")
	}
	if !slices.Contains(others, before) {
		before = others[0]
	}
	// The best one is best left to the kernel's own choice, as it was before.
	if before == others[0] {
		if err := k.selectClockSource(""); err != nil {
			return err
		}
		if k.mustBeCurrent(before) == nil {
			return nil
		}
	}
	if err := k.selectClockSource(before); err != nil {
		return err
	}
	return k.mustBeCurrent(before)
}

// setDateBack sets CLOCK_REALTIME back, unless a program keeps it by NTP: that one corrects it, or
// has done so already.
func setDateBack(byNs int64) (bool, error) {
	var ntp unix.Timex
	if _, err := unix.Adjtimex(&ntp); err != nil {
		return false, fmt.Errorf("asking who keeps the date: %w", err)
	}
	if ntp.Status&unix.STA_UNSYNC == 0 {
		return false, nil
	}
	var date unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &date); err != nil {
		return false, err
	}
	date = unix.NsecToTimespec(date.Nano() - byNs)
	return true, unix.ClockSettime(unix.CLOCK_REALTIME, &date)
}
