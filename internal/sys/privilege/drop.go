package privilege

import (
	"errors"
	"fmt"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// Needs are the rights that a process keeps.
type Needs struct {
	// Capabilities are kept if the process has them: unix.CAP_BPF and others.
	Capabilities []int
	// Calls are the system calls that are kept, beyond those of every process.
	Calls []Call
	// Relay allows only the system calls of a process that relays datagrams. It replaces Calls.
	Relay bool
	// Caller makes the process that of the user who called sudo, with the kept capabilities.
	Caller bool
}

// Drop gives up all other rights. A process without capabilities loses only system calls.
func Drop(n Needs) error {
	_, _ = time.Now().Zone() // reads the time zone: its file may be out of reach later
	kept := n.Capabilities
	if !hasCapability(unix.CAP_BPF) {
		kept = append(kept, beforeBPF...)
	}
	if err := dropBounding(kept); err != nil {
		return fmt.Errorf("giving up capabilities: %w", err)
	}
	if n.Caller {
		if err := becomeCaller(); err != nil {
			return fmt.Errorf("becoming the user who called sudo: %w", err)
		}
	}
	if err := setCapabilities(kept); err != nil {
		return fmt.Errorf("giving up capabilities: %w", err)
	}
	return filterCalls(&n)
}

// beforeBPF are the capabilities that stand for CAP_BPF and CAP_PERFMON before Linux 5.8, and those
// for devices and locked memory that later kernels do not ask for.
var beforeBPF = []int{unix.CAP_SYS_ADMIN, unix.CAP_SYS_RESOURCE, unix.CAP_NET_RAW}

// hasCapability reports whether the kernel knows a capability.
func hasCapability(c int) bool {
	_, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0)
	return err == nil
}

// set is a set of capabilities, a bit for each.
type set uint64

func setOf(capabilities []int) (s set) {
	for _, c := range capabilities {
		s |= 1 << c
	}
	return s
}

// dropBounding removes all other capabilities from the bounding and the ambient set, so that no
// program started later gets them.
func dropBounding(kept []int) error {
	if err := prctlAll(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL); err != nil && !errors.Is(err, unix.EINVAL) {
		return err // EINVAL: Linux before 4.3 has no ambient set
	}
	for c := 0; hasCapability(c); c++ {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0)
		if setOf(kept)&(1<<c) != 0 || err == nil && has == 0 {
			continue
		}
		err = prctlAll(unix.PR_CAPBSET_DROP, uintptr(c))
		if errors.Is(err, unix.EPERM) {
			return nil // without CAP_SETPCAP the process has few rights to drop
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setCapabilities makes the kept capabilities, as far as the process has them, its only ones.
func setCapabilities(kept []int) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	unchanged := true
	for i := range data {
		before := data[i]
		word := uint32(setOf(kept) >> (32 * i))
		data[i].Permitted &= word
		data[i].Effective = data[i].Permitted
		data[i].Inheritable = 0
		unchanged = unchanged && data[i] == before
	}
	if unchanged { // a unit of systemd may forbid the call
		return nil
	}
	_, _, e := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&data)
	if e != 0 {
		return e
	}
	return nil
}

// becomeCaller changes all ids of the process to those of the user who called sudo, and keeps its
// capabilities.
func becomeCaller() error {
	uid, gid, ok := caller()
	if !ok {
		return nil
	}
	if err := prctlAll(unix.PR_SET_KEEPCAPS, 1); err != nil {
		return err
	}
	if err := syscall.Setgroups(groupsOf(uid, gid)); err != nil {
		return err
	}
	if err := syscall.Setresgid(gid, gid, gid); err != nil {
		return err
	}
	return syscall.Setresuid(uid, uid, uid)
}

// groupsOf returns the groups of a user, at least one.
func groupsOf(uid, gid int) []int {
	groups := []int{gid}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return groups
	}
	ids, _ := u.GroupIds()
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil && n != gid {
			groups = append(groups, n)
		}
	}
	return groups
}

// prctlAll calls prctl on all threads.
func prctlAll(option int, args ...uintptr) error {
	var a [4]uintptr
	copy(a[:], args)
	if _, _, e := psx.Syscall6(unix.SYS_PRCTL, uintptr(option), a[0], a[1], a[2], a[3], 0); e != 0 {
		return e
	}
	return nil
}
