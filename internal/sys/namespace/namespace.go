// Package namespace makes and removes named network namespaces, as `ip netns` does.
package namespace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/lock"
	"airtide/internal/sys/thread"
)

// Folder holds the named network namespaces.
const Folder = "/run/netns"

// lockPath is a lock file that only root can open.
const lockPath = "/run/airtide/netns.lock"

// Create makes a network namespace with a name and returns a handle to it, which the caller closes.
// A taken name is os.ErrExist.
func Create(name string) (netns.NsHandle, error) {
	if err := share(); err != nil {
		return netns.None(), fmt.Errorf("making %s a shared mount: %w", Folder, err)
	}
	handle := netns.None()
	err := thread.Do(func() (err error) {
		handle, err = netns.NewNamed(name)
		return err
	})
	if err != nil && !errors.Is(err, os.ErrExist) {
		_ = Remove(filepath.Join(Folder, name)) // its file may be there
	}
	return handle, err
}

// Remove removes a network namespace's name, by its path. A killed process may have left a file
// without a mount.
func Remove(path string) error {
	_ = unix.Unmount(path, unix.MNT_DETACH)
	return os.Remove(path)
}

// processes returns the processes whose main thread is in the network namespace of a file.
func processes(path string) ([]int, error) {
	want, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	all, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, file := range all {
		var pid int
		if info, err := os.Stat(file); err != nil || !os.SameFile(info, want) {
			continue // most often, the process has ended
		}
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// leftDelay is the time for processes to end after SIGTERM.
const leftDelay = time.Second

// EndProcesses ends the processes in the network namespaces of files: by SIGTERM, and by SIGKILL a
// second later.
func EndProcesses(paths []string) error {
	var left []int
	for _, path := range paths {
		pids, err := processes(path)
		if err != nil {
			return fmt.Errorf("looking for processes in %s: %w", path, err)
		}
		left = append(left, pids...)
	}
	for _, pid := range left {
		_ = unix.Kill(pid, unix.SIGTERM)
	}
	for end := time.Now().Add(leftDelay); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		left = slices.DeleteFunc(left, func(pid int) bool { return unix.Kill(pid, 0) != nil })
		if len(left) == 0 {
			return nil
		}
	}
	for _, pid := range left {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	return nil
}

// share makes the folder a shared mount, as netns_add of iproute2 does. Otherwise, a later
// `ip netns add` mounts the folder over itself, and nobody can unmount the namespaces below that
// mount. An unmount also reaches the mount namespaces that `ip netns exec` makes.
func share() error {
	if err := os.MkdirAll(Folder, 0o755); err != nil {
		return err
	}
	if mounted, err := makeShared(); mounted || err != nil {
		return err
	}
	// Two processes at a time would mount it twice.
	unlock, err := lockFolder()
	if err != nil {
		return err
	}
	defer unlock()
	if mounted, err := makeShared(); mounted || err != nil {
		return err
	}
	if err := unix.Mount(Folder, Folder, "none", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	_, err = makeShared()
	return err
}

// makeShared makes the folder's mount a shared one. It reports whether there is a mount.
func makeShared() (mounted bool, err error) {
	err = unix.Mount("", Folder, "none", unix.MS_SHARED|unix.MS_REC, "")
	if errors.Is(err, unix.EINVAL) { // it is no mount
		return false, nil
	}
	return err == nil, err
}

// lockFolder excludes other processes that mount the folder: those of airtide by a lock file of
// their own, ip by its lock of the folder. Every user may lock the folder and keep it locked. ip
// needs the lock for two system calls, so a lock that lasts longer is not ip's and is ignored.
func lockFolder() (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(lockPath), 0o755); err != nil {
		return nil, err
	}
	own, err := lock.Wait(context.Background(), lockPath, 2*lock.Moment)
	if err != nil {
		return nil, err
	}
	folder, err := os.Open(Folder)
	if err == nil {
		err = lock.WaitFile(context.Background(), folder, lock.Moment)
	}
	if err != nil && !errors.Is(err, lock.ErrHeld) {
		return nil, errors.Join(err, folder.Close(), own.Close())
	}
	return func() { _ = errors.Join(folder.Close(), own.Close()) }, nil
}
