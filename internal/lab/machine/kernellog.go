package machine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// KernelLog reads the messages of the kernel's log after a mark.
type KernelLog struct{ fd int }

// MarkKernelLog sets a mark at the end of the kernel's log. A container may not be allowed to read
// the log.
func MarkKernelLog() (*KernelLog, error) {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the kernel's log /dev/kmsg (root is needed): %w", err)
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_END); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("finding the end of the kernel's log: %w", err)
	}
	return &KernelLog{fd}, nil
}

// kmsgRecord exceeds the longest record of /dev/kmsg (PRINTK_MESSAGE_MAX in the kernel).
const kmsgRecord = 8192

// Lines returns the messages since the mark or the last call, in the format of dmesg: [seconds
// since boot] message. A further line reports records that the kernel overwrote before they were
// read.
func (k *KernelLog) Lines() ([]string, error) {
	var lines []string
	buf := make([]byte, kmsgRecord)
	for {
		n, err := unix.Read(k.fd, buf)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return lines, nil
		case errors.Is(err, unix.EPIPE):
			lines = append(lines, "(lines of the kernel's log are missing here: it was overwritten)")
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return lines, fmt.Errorf("reading the kernel's log: %w", err)
		default:
			if line, ok := kmsgLine(string(buf[:n])); ok {
				lines = append(lines, line)
			}
		}
	}
}

// Close closes the log.
func (k *KernelLog) Close() error { return unix.Close(k.fd) }

// kmsgLine parses a record: priority,sequence,µs since boot,flags;message, followed by lines that
// begin with a space (Documentation/ABI/testing/dev-kmsg).
func kmsgLine(record string) (string, bool) {
	head, message, ok := strings.Cut(record, ";")
	fields := strings.Split(head, ",")
	if !ok || len(fields) < 3 {
		return "", false
	}
	message, _, _ = strings.Cut(message, "\n")
	us, err := strconv.ParseUint(fields[2], 10, 64)
	if err != nil {
		return "", false
	}
	return fmt.Sprintf("[%5d.%06d] %s", us/1e6, us%1e6, message), true
}
