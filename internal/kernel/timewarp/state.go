package timewarp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"airtide/internal/sys/file"
	"airtide/internal/sys/lock"
)

// state holds everything needed for an undo. Its file exists from before the first change until
// after the last undo.
type state struct {
	// Before is the clock source that timewarp replaced.
	Before string `json:"clock_source_before"`
	// Temporary is set while a command runs in warped time. If it is set without a running process,
	// the process was killed.
	Temporary bool `json:"temporary"`
	// Watchdogs are the kernel's timeouts at ratio 1, by their files.
	Watchdogs map[string]int `json:"watchdogs"`
	// Cubic is set while new connections use a scaled CUBIC.
	Cubic *scaledCubic `json:"cubic,omitempty"`
	// Bursts is set while TCP gathers as much at once as at ratio 1.
	Bursts *scaledBursts `json:"bursts,omitempty"`
	// Selected and RatioSet are the clocks when timewarp was selected, and when N was set last.
	Selected Reading `json:"selected"`
	RatioSet Reading `json:"ratio_set"`
}

// ahead is how much the clock went ahead of real time (less than 0: fell behind) since timewarp was
// selected.
func (s *state) ahead(now Reading) time.Duration {
	if s.Selected == (Reading{}) {
		return 0 // it ended before that
	}
	real, warped := now.Since(s.Selected)
	return warped - real
}

func (k *Kernel) statePath() string { return filepath.Join(k.state, "timewarp.json") }

// readState reads the state. Without a state the error wraps os.ErrNotExist.
func (k *Kernel) readState() (*state, error) {
	text, err := os.ReadFile(k.statePath())
	if err != nil {
		return nil, fmt.Errorf("reading what timewarp has to take back: %w", err)
	}
	s := &state{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): remove it, then airtide timewarp unload takes back what can be",
			k.statePath(), err)
	}
	return s, nil
}

// writeState replaces the state as a whole, so that a crash leaves the old or the new one.
func (k *Kernel) writeState(s *state) error {
	text, err := json.Marshal(s)
	if err == nil {
		err = file.Write(k.statePath(), append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("noting what timewarp has to take back: %w", err)
	}
	return nil
}

func (k *Kernel) removeState() error {
	if err := os.Remove(k.statePath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forgetting what timewarp had to take back: %w", err)
	}
	return nil
}

// ErrBusy means that another process changes time or runs a command in warped time.
var ErrBusy = errors.New("another airtide timewarp is at work: wait until its command ends, or end it")

func (k *Kernel) lockPath() string { return filepath.Join(k.state, "timewarp.lock") }

// lock keeps other processes away until the file is closed, which the end of the process does too.
// It is ErrBusy while another one does.
func (k *Kernel) lock() (*os.File, error) { return k.lockBy(lock.Try) }

// awaitLock is lock, but waits for another process as long as it works.
func (k *Kernel) awaitLock() (*os.File, error) {
	return k.lockBy(func(path string) (*os.File, error) {
		return lock.Wait(context.Background(), path, lock.Unlimited)
	})
}

func (k *Kernel) lockBy(take func(path string) (*os.File, error)) (*os.File, error) {
	if err := os.MkdirAll(k.state, 0o755); err != nil {
		return nil, fmt.Errorf("reserving the clock: %w", err)
	}
	f, err := take(k.lockPath())
	if errors.Is(err, lock.ErrHeld) {
		return nil, ErrBusy
	}
	if err != nil {
		return nil, fmt.Errorf("reserving the clock: %w", err)
	}
	return f, nil
}

// busy reports whether another process holds the lock.
func (k *Kernel) busy() bool { return lock.Held(k.lockPath()) }
