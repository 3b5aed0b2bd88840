package privilege

import "golang.org/x/sys/unix"

// auditArch is the architecture in the kernel's view of a call.
const auditArch = unix.AUDIT_ARCH_AARCH64

// neverHere and relayHere are the calls of the lists that only this processor has.
var (
	neverHere []uint32
	relayHere = []uint32{unix.SYS_FSTATAT}
)
