package lock

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"airtide/internal/units"
)

// Holder is the process that holds a lock.
type Holder struct {
	PID     int    // 0 if /proc/locks does not tell it, for example in another PID namespace
	Command string // its command line, printable; "" if it cannot be read
}

func (h Holder) String() string {
	switch {
	case h.PID == 0:
		return "another process"
	case h.Command == "":
		return fmt.Sprintf("process %d", h.PID)
	}
	return fmt.Sprintf("process %d (%s)", h.PID, h.Command)
}

// commandBytes is the part of a command line that a message shows.
const commandBytes = 80

// findHolder returns the process that holds a lock of an open file.
func findHolder(f *os.File) Holder {
	var stat unix.Stat_t
	if unix.Fstat(int(f.Fd()), &stat) != nil {
		return Holder{}
	}
	for _, l := range locks(&stat) {
		if l.pid > 0 {
			return Holder{l.pid, commandLine(l.pid)}
		}
	}
	return Holder{}
}

// commandLine reads the beginning of the command line of a process.
func commandLine(pid int) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, commandBytes))
	return units.Printable(string(bytes.ReplaceAll(bytes.TrimRight(text, "\x00"), []byte{0}, []byte{' '})))
}

// entry is a line of /proc/locks about a flock that is held.
type entry struct {
	pid       int
	exclusive bool
}

// locks returns the flocks of a file in /proc/locks.
func locks(stat *unix.Stat_t) []entry {
	text, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil
	}
	place := fmt.Sprintf("%02x:%02x:%s", unix.Major(stat.Dev), unix.Minor(stat.Dev), strconv.FormatUint(stat.Ino, 10))
	var all []entry
	for line := range strings.Lines(string(text)) {
		// 1: FLOCK  ADVISORY  WRITE 1234 00:1a:5678 0 EOF
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" || fields[5] != place {
			continue
		}
		pid, _ := strconv.Atoi(fields[4])
		all = append(all, entry{pid, fields[3] == "WRITE"})
	}
	return all
}

// listed reports whether /proc/locks has an exclusive flock of the file.
func listed(path string) bool {
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil {
		return false
	}
	for _, l := range locks(&stat) {
		if l.exclusive {
			return true
		}
	}
	return false
}
