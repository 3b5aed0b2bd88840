package owner

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Comm is the name of a process as in /proc/PID/comm, at most 15 bytes.
func Comm(pid uint32) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "", fmt.Errorf("reading name of process %d: %w", pid, err)
	}
	return string(bytes.TrimSuffix(b, []byte{'\n'})), nil
}

// directory reads the names in a folder with getdents64 into its own buffer. A name is valid until
// the next read and includes its terminating NUL, so that a system call can take it without a copy.
// A scan of thousands of descriptors then makes no garbage, unlike os.ReadDir and os.Readlink.
type directory struct {
	buf []byte
}

// offsets in struct linux_dirent64.
const (
	direntLen  = 16
	direntName = 19
)

// each calls f with every name until f returns false. The NUL at the end of the name belongs to the
// slice.
func (d *directory) each(fd int, f func(nameNUL []byte) bool) error {
	if d.buf == nil {
		d.buf = make([]byte, 32<<10)
	}
	for {
		n, err := unix.Getdents(fd, d.buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		for b := d.buf[:n]; len(b) > direntName; {
			size := int(binary.NativeEndian.Uint16(b[direntLen:]))
			name := b[direntName:size]
			if end := bytes.IndexByte(name, 0); end >= 0 && !f(name[:end+1]) {
				return nil
			}
			b = b[size:]
		}
	}
}

// readlinkat is unix.Readlinkat for a name that already ends in NUL.
func readlinkat(dirfd int, nameNUL, buf []byte) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_READLINKAT, uintptr(dirfd), uintptr(unsafe.Pointer(&nameNUL[0])),
		uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// decimal reads an unsigned number without making a string.
func decimal(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// pids lists the processes in /proc, in ascending order as the kernel gives them.
func (d *directory) pids(list []uint32) ([]uint32, error) {
	fd, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return list, fmt.Errorf("opening /proc (is it mounted?): %w", err)
	}
	defer unix.Close(fd)
	err = d.each(fd, func(name []byte) bool {
		if n, ok := decimal(name[:len(name)-1]); ok {
			list = append(list, uint32(n))
		}
		return true
	})
	if err != nil {
		return list, fmt.Errorf("listing /proc: %w", err)
	}
	return list, nil
}

// startTime returns the start of a process in clock ticks after boot, 0 if the process has ended.
// Together with the pid it identifies a process uniquely.
func startTime(procfd int, buf []byte) uint64 {
	fd, err := unix.Openat(procfd, "stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return 0
	}
	// The name is in parentheses and may contain any characters, so fields are counted after the
	// last parenthesis: starttime is field 22 of proc(5), the 20th after the name.
	b := buf[:n]
	b = b[bytes.LastIndexByte(b, ')')+1:]
	for i := 0; ; i++ {
		b = bytes.TrimLeft(b, " ")
		end := bytes.IndexByte(b, ' ')
		if end < 0 {
			return 0
		}
		if i == 19 {
			t, _ := strconv.ParseUint(string(b[:end]), 10, 64)
			return t
		}
		b = b[end:]
	}
}
