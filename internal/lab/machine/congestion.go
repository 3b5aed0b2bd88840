package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
	"airtide/internal/sys/lock"
)

const (
	congestionSysctl = "net.ipv4.tcp_congestion_control"
	availablePath    = sysctlFolder + "/net/ipv4/tcp_available_congestion_control"
	allowedPath      = sysctlFolder + "/net/ipv4/tcp_allowed_congestion_control"
)

// setCongestion sets the default congestion control of a namespace. Writing the name makes the
// kernel load its module. Since Linux 5.15 a namespace accepts only congestion controls that
// unprivileged users may use (tcp_set_default_congestion_control), so others are allowed during
// the call. While others load and unload congestion controls and namespaces, the kernel may say
// once that an available one is missing (seen on Linux 6.18). So it is asked again.
func setCongestion(ctx context.Context, namespace, name string) (err error) {
	set := func() error { return In(namespace, func() error { return setSysctl(congestionSysctl, name) }) }
	for range 10 {
		if err = set(); errors.Is(err, unix.EPERM) {
			err = whileAllowed(ctx, name, set)
		}
		if !errors.Is(err, unix.ENOENT) {
			return err
		}
		available, readErr := readSysctl(availablePath)
		if readErr != nil || !slices.Contains(strings.Fields(available), name) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return noCongestion(name)
}

// noCongestion returns an error that lists the congestion controls of the kernel.
func noCongestion(name string) error {
	available, err := readSysctl(availablePath)
	if err != nil {
		return fmt.Errorf("reading the kernel's congestion controls: %w", err)
	}
	return fmt.Errorf("this kernel has no congestion control %s: it has %s (others may be modules: modprobe tcp_%s)",
		name, strings.ReplaceAll(available, " ", ", "), name)
}

// allowing serialises changes of the allowed congestion controls within this process.
// congestionLock serialises processes. Every user may lock the file of the sysctl itself, so it is
// not locked.
var allowing sync.Mutex

// congestionLock is the lock file for changes of the allowed congestion controls.
var congestionLock = "/run/airtide/congestion.lock"

// whileAllowed calls f while unprivileged users may use the congestion control.
func whileAllowed(ctx context.Context, name string, f func() error) (err error) {
	allowing.Lock()
	defer allowing.Unlock()
	if err := os.MkdirAll(filepath.Dir(congestionLock), 0o755); err != nil {
		return fmt.Errorf("allowing congestion control %s: %w", name, err)
	}
	locked, err := lock.Wait(ctx, congestionLock, lock.Moment)
	if err != nil {
		return fmt.Errorf("allowing congestion control %s: %w", name, err)
	}
	defer locked.Close()
	before, err := readSysctl(allowedPath)
	if err != nil {
		return fmt.Errorf("reading the allowed congestion controls: %w", err)
	}
	names := strings.Fields(before)
	if slices.Contains(names, name) {
		return f() // another process has allowed it
	}
	if err := file.Set(allowedPath, strings.Join(append(names, name), " ")); err != nil {
		return fmt.Errorf("allowing congestion control %s in network namespaces: %w", name, err)
	}
	defer func() {
		if back := file.Set(allowedPath, before); back != nil {
			err = errors.Join(err,
				fmt.Errorf("setting net.ipv4.tcp_allowed_congestion_control back to %q: %w", before, back))
		}
	}()
	return f()
}
