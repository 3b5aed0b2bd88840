package privilege

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// caller returns the user who started this process by sudo. ok is false for a process that is not
// root, and for one that root started.
func caller() (uid, gid int, ok bool) {
	if os.Geteuid() != 0 {
		return 0, 0, false
	}
	uid, uidErr := strconv.Atoi(os.Getenv("SUDO_UID"))
	gid, gidErr := strconv.Atoi(os.Getenv("SUDO_GID"))
	return uid, gid, uidErr == nil && gidErr == nil && uid > 0 && gid >= 0
}

// IsCaller reports whether a user started this process by sudo.
func IsCaller(user int) bool {
	uid, _, ok := caller()
	return ok && uid == user
}

// GiveToCaller makes a new file that of the user who called sudo. Without sudo it does nothing. A
// file system without owners keeps the file as it is.
func GiveToCaller(f *os.File) error {
	uid, gid, ok := caller()
	if !ok {
		return nil
	}
	err := f.Chown(uid, gid)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}
