package privilege

import "golang.org/x/sys/unix"

// auditArch is the architecture in the kernel's view of a call.
const auditArch = unix.AUDIT_ARCH_X86_64

// neverHere and relayHere are the calls of the lists that only this processor has.
var (
	neverHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT}
	relayHere = []uint32{unix.SYS_EPOLL_WAIT, unix.SYS_POLL, unix.SYS_ARCH_PRCTL, unix.SYS_NEWFSTATAT}
)
