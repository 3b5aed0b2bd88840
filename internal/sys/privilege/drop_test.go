package privilege

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// attempts are system calls behind Drop. Each says what it attempts.
var attempts = map[string]func() error{
	"a program": func() error { return unix.Exec("/bin/true", []string{"true"}, nil) },
	"a socket": func() error {
		_, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		return err
	},
	"a namespace of its own": func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"another namespace":      func() error { return unix.Setns(-1, unix.CLONE_NEWNET) },
	"BPF": func() error {
		_, _, e := unix.Syscall(unix.SYS_BPF, 1<<30, 0, 0) // unknown, so not asked for rights
		return e
	},
	"a performance counter": func() error {
		_, _, e := unix.Syscall6(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 1<<30, 0)
		return e
	},
	"a descriptor of another process": func() error {
		_, err := unix.PidfdGetfd(-1, 0, 0)
		return err
	},
	"a mount":  func() error { return unix.Mount("none", "/none", "tmpfs", 0, "") },
	"a module": func() error { return unix.FinitModule(-1, "", 0) },
	"the time": func() error { return unix.Settimeofday(nil) },
	"a trace":  func() error { return unix.PtraceAttach(-1) },
	"io_uring": func() error {
		_, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, 0, 0, 0)
		return e
	},
	"a file": func() error {
		f, err := os.Open("/dev/null")
		return errors.Join(err, f.Close())
	},
}

// allowed are the attempts that needs allow.
var allowed = map[string]struct {
	needs Needs
	names []string
}{
	"nothing": {Needs{}, []string{"a file"}},
	"sockets and namespaces": {
		Needs{Calls: []Call{OpenSockets, EnterNamespaces}}, []string{"a file", "a socket", "another namespace"},
	},
	"BPF and descriptors": {
		Needs{Calls: []Call{UseBPF, BorrowDescriptors}},
		[]string{"a file", "BPF", "a performance counter", "a descriptor of another process"},
	},
	"everything": {
		Needs{Calls: []Call{Execute, EnterNamespaces, UseBPF, OpenSockets, BorrowDescriptors}},
		[]string{
			"a file", "a socket", "another namespace", "BPF", "a performance counter",
			"a descriptor of another process", "a program",
		},
	},
	"relay": {Needs{Relay: true}, []string{"a file"}},
}

// dropVariable names the attempt and the needs of a child.
const dropVariable = "AIRTIDE_TEST_DROP"

func TestMain(m *testing.M) {
	needs, attempt, child := strings.Cut(os.Getenv(dropVariable), "/")
	if !child {
		os.Exit(m.Run())
	}
	if err := Drop(allowed[needs].needs); err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	if errors.Is(attempts[attempt](), unix.EPERM) {
		os.Exit(2) // the filter's error
	}
}

// A call that the process does not need fails with EPERM. Others fail for their own reasons, since
// their arguments are wrong.
func TestADroppedProcessHasOnlyTheCallsItNeeds(t *testing.T) {
	if !Examine().Filters {
		t.Skip("this kernel has no filters of system calls")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for needs, may := range allowed {
		for attempt := range attempts {
			want := 2
			for _, name := range may.names {
				if name == attempt {
					want = 0
				}
			}
			c := exec.Command(self)
			c.Env = append(os.Environ(), dropVariable+"="+needs+"/"+attempt)
			said, _ := c.CombinedOutput()
			if got := c.ProcessState.ExitCode(); got != want {
				t.Errorf("%s, attempts %s: status %d, want %d: %s", needs, attempt, got, want, said)
			}
		}
	}
}
