package privilege

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// verdict runs a filter on a call. x/net/bpf loads big-endian numbers, seccomp those of the
// machine.
func verdict(t *testing.T, listed []uint32, allow bool, arch, number uint32) uint32 {
	t.Helper()
	filter, err := assemble(listed, allow)
	if err != nil {
		t.Fatal(err)
	}
	var program []bpf.Instruction
	for _, f := range filter {
		program = append(program, bpf.RawInstruction{Op: f.Code, Jt: f.Jt, Jf: f.Jf, K: f.K}.Disassemble())
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	call := make([]byte, 16)
	binary.BigEndian.PutUint32(call[numberOffset:], number)
	binary.BigEndian.PutUint32(call[archOffset:], arch)
	result, err := vm.Run(call)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(result)
}

// Calls of another architecture have other numbers: a forbidden call would pass by its 32-bit
// number.
func TestFiltersForbidCallsOfOtherArchitectures(t *testing.T) {
	const denied = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	const other = unix.AUDIT_ARCH_I386
	listed := []uint32{unix.SYS_BPF, unix.SYS_PTRACE}
	for _, c := range []struct {
		allow        bool
		arch, number uint32
		want         uint32
	}{
		{false, auditArch, unix.SYS_BPF, denied},
		{false, auditArch, unix.SYS_PTRACE, denied},
		{false, auditArch, unix.SYS_READ, unix.SECCOMP_RET_ALLOW},
		{false, auditArch, unix.SYS_READ | x32Bit, denied},
		{false, auditArch, unix.SYS_BPF | x32Bit, denied},
		{false, other, unix.SYS_READ, denied},
		{false, other, unix.SYS_BPF, denied},
		{true, auditArch, unix.SYS_BPF, unix.SECCOMP_RET_ALLOW},
		{true, auditArch, unix.SYS_READ, denied},
		{true, auditArch, unix.SYS_BPF | x32Bit, denied},
		{true, other, unix.SYS_BPF, denied},
	} {
		if got := verdict(t, listed, c.allow, c.arch, c.number); got != c.want {
			t.Errorf("call %#x of %#x, list allows %t: %#x, want %#x", c.number, c.arch, c.allow, got, c.want)
		}
	}
}
