package privilege

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// Call is a group of system calls that only some processes need.
type Call int

// The groups.
const (
	Execute           Call = iota // starts programs
	EnterNamespaces               // enters existing namespaces
	UseBPF                        // uses BPF maps, programs and links
	OpenSockets                   // opens sockets
	BorrowDescriptors             // takes descriptors from other processes
)

var callNames = map[Call][]string{
	Execute:           {"execve", "execveat"},
	EnterNamespaces:   {"setns"},
	UseBPF:            {"bpf", "perf_event_open"},
	OpenSockets:       {"socket", "socketpair", "connect", "bind", "listen", "accept", "accept4"},
	BorrowDescriptors: {"pidfd_getfd"},
}

// never are the system calls that no process needs after its start. Each changes the kernel or
// another process, or is a frequent part of attacks on the kernel.
var never = []string{
	// the kernel
	"init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff",
	"acct", "quotactl", "quotactl_fd", "syslog", "iopl", "ioperm", "modify_ldt", "personality", "lookup_dcookie",
	// mounts
	"mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount",
	"fspick", "mount_setattr", "unshare",
	// time and names of the host
	"settimeofday", "clock_settime", "clock_settime64", "adjtimex", "clock_adjtime", "clock_adjtime64", "stime",
	"sethostname", "setdomainname",
	// keys
	"add_key", "request_key", "keyctl",
	// other processes
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp",
	// means of attacks
	"userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "open_by_handle_at", "memfd_secret",
}

// filterCalls forbids system calls to all threads; they fail with EPERM. It sets no_new_privs,
// which the kernel asks of a process without CAP_SYS_ADMIN.
func filterCalls(n *Needs) error {
	info, err := arch.GetInfo("")
	if err != nil {
		return noFilter() // the filters know no such processor
	}
	known := func(names []string) []string {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			_, ok := info.SyscallNames[name]
			return !ok
		})
		slices.Sort(names)
		return slices.Compact(names)
	}
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow}
	if n.Only != nil {
		policy.DefaultAction = seccomp.ActionErrno // EPERM
		policy.Syscalls = []seccomp.SyscallGroup{{Names: known(n.Only), Action: seccomp.ActionAllow}}
	} else {
		names := slices.Clone(never)
		for call, group := range callNames {
			if !slices.Contains(n.Calls, call) {
				names = append(names, group...)
			}
		}
		policy.Syscalls = []seccomp.SyscallGroup{{Names: known(names), Action: seccomp.ActionErrno}}
	}
	// no_new_privs is set on this thread; the filter takes it to the others.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: policy})
	// EPERM: the filter of a container or unit forbids the call, so there is one already.
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
		return noFilter()
	}
	if err != nil {
		return fmt.Errorf("forbidding system calls: %w", err)
	}
	return nil
}

// noFilter sets no_new_privs on all threads of a kernel without filters.
func noFilter() error {
	if err := prctlAll(unix.PR_SET_NO_NEW_PRIVS, 1); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("giving up new rights: %w", err)
	}
	return nil
}
