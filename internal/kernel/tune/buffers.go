package tune

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// fixed is a socket with fixed buffer sizes, with the sizes from before the tune.
type fixed struct {
	send, receive int // bytes as the kernel keeps them; 0 leaves a buffer alone
	locks         int // SO_BUF_LOCK
}

// fixedBuffers returns the sockets with buffers to restore, by inode.
func fixedBuffers(records []socketsTuneRecord) map[uint64]fixed {
	found := map[uint64]fixed{}
	for i := range records {
		r := &records[i]
		mine := func(x setting) bool {
			return r.Slot.Mask&(1<<x) != 0 && r.Superseded&(1<<x) == 0 && r.Now[x] == r.Slot.Left[x]
		}
		if r.Inode == 0 || !mine(socketsTuneSettingTUNE_LOCKS) {
			continue
		}
		f := fixed{locks: int(r.Slot.Old[socketsTuneSettingTUNE_LOCKS])}
		if mine(socketsTuneSettingTUNE_SNDBUF) {
			f.send = int(r.Slot.Old[socketsTuneSettingTUNE_SNDBUF])
		}
		if mine(socketsTuneSettingTUNE_RCVBUF) {
			f.receive = int(r.Slot.Old[socketsTuneSettingTUNE_RCVBUF])
		}
		found[r.Inode] = f
	}
	return found
}

// free lets the kernel size buffers again that it did before. No BPF program can, so each socket is
// borrowed from a process that holds it (pidfd_getfd, Linux 5.6; SO_BUF_LOCK, 5.14). It returns how
// many no process would lend.
func free(sockets map[uint64]fixed) (left int) {
	if len(sockets) == 0 {
		return 0
	}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		if len(sockets) == 0 {
			break
		}
		target, err := os.Readlink(fd)
		if err != nil || len(target) < len("socket:[]") || target[:len("socket:[")] != "socket:[" {
			continue
		}
		inode, err := strconv.ParseUint(target[len("socket:["):len(target)-1], 10, 64)
		if err != nil {
			continue
		}
		if f, ok := sockets[inode]; ok && freeAt(fd, inode, f) == nil {
			delete(sockets, inode)
		}
	}
	return len(sockets)
}

// freeAt does it through /proc/PID/fd/N.
func freeAt(path string, inode uint64, f fixed) error {
	pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(filepath.Base(path))
	if err != nil {
		return err
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(process)
	fd, err := unix.PidfdGetfd(process, number, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// The number may be another file's by now.
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Ino != inode {
		return unix.ESTALE
	}
	var errs []error
	if f.send != 0 {
		errs = append(errs, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, f.send/2))
	}
	if f.receive != 0 {
		errs = append(errs, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, f.receive/2))
	}
	return errors.Join(append(errs, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BUF_LOCK, f.locks))...)
}
