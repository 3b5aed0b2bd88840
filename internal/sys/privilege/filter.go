package privilege

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
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

// filterCalls forbids system calls to all threads; they fail with EPERM. It sets no_new_privs,
// which the kernel asks of a process without CAP_SYS_ADMIN.
func filterCalls(n *Needs) error {
	if auditArch == 0 {
		return noFilter() // the numbers of this processor's calls are not listed here
	}
	listed := slices.Concat(never, neverHere)
	if n.Relay {
		listed = slices.Concat(relay, relayHere)
	}
	for call, group := range groups {
		if !n.Relay && !slices.Contains(n.Calls, call) {
			listed = append(listed, group...)
		}
	}
	program, err := assemble(listed, n.Relay)
	if err != nil {
		return fmt.Errorf("forbidding system calls: %w", err)
	}
	// no_new_privs is set on this thread; the filter takes it to the others.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return noFilter()
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, e := unix.Syscall(
		unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&filter)),
	)
	runtime.KeepAlive(program)
	switch e {
	case 0:
		return nil
	case unix.ENOSYS, unix.EINVAL, unix.EPERM:
		// EPERM: the filter of a container or unit forbids the call, so there is one already.
		return noFilter()
	}
	return fmt.Errorf("forbidding system calls: %w", e)
}

// Offsets in struct seccomp_data, and the bit in the numbers of the x32 calls of amd64.
const (
	numberOffset = 0
	archOffset   = 4
	x32Bit       = 0x40000000
)

// assemble makes the filter. It allows the listed calls alone, or all others. Calls of another
// architecture, such as 32-bit ones, would pass under other numbers; they are forbidden.
func assemble(listed []uint32, allow bool) ([]unix.SockFilter, error) {
	const denied = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	match := uint32(denied)
	others := uint32(unix.SECCOMP_RET_ALLOW)
	if allow {
		match = unix.SECCOMP_RET_ALLOW
		others = denied
	}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: denied},
		bpf.LoadAbsolute{Off: numberOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1},
		bpf.RetConstant{Val: denied},
	}
	for i, number := range listed {
		behind := len(listed) - i // the other comparisons and the return of others
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipTrue: uint8(behind)})
	}
	program = append(program, bpf.RetConstant{Val: others}, bpf.RetConstant{Val: match})
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return filter, nil
}

// noFilter sets no_new_privs on all threads of a kernel without filters.
func noFilter() error {
	if err := prctlAll(unix.PR_SET_NO_NEW_PRIVS, 1); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("giving up new rights: %w", err)
	}
	return nil
}
