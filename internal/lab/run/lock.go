package run

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"airtide/internal/sys/file"
	"airtide/internal/sys/lock"
	"airtide/internal/units"
)

// lockPath is the lock file of the lab on this machine.
var lockPath = "/run/airtide/lab.lock"

// ErrBusy means that another lab runs on this machine.
var ErrBusy = errors.New("another experiment runs on this machine, and both would falsify each other's results")

// lockMachine excludes other labs until the file is closed. The end of the process also closes it.
func lockMachine(experiment string) (*os.File, error) {
	if err := os.MkdirAll("/run/airtide", 0o755); err != nil {
		return nil, fmt.Errorf("reserving the machine: %w", err)
	}
	f, err := lock.Try(lockPath)
	if held, ok := errors.AsType[*lock.HeldError](err); ok {
		return nil, fmt.Errorf("%w: wait for %s, or stop it", ErrBusy, lockHolder(held.Holder))
	}
	if err != nil {
		return nil, fmt.Errorf("reserving the machine: %w", err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s (process %d)\n", experiment, os.Getpid())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("reserving the machine: %w", err)
	}
	return f, nil
}

// lockHolder names the experiment that holds the lock. The holder writes its name behind locking,
// so the file is empty for a moment, and for as long as it stands still there.
func lockHolder(holder lock.Holder) string {
	text, err := file.Read(lockPath, 256)
	name := units.Printable(strings.TrimSpace(string(text)))
	if err != nil || name == "" {
		return holder.String()
	}
	return name
}
