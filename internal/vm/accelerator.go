package vm

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Accelerator is qemu's method of running a guest's instructions.
type Accelerator string

// The accelerators.
const (
	KVM Accelerator = "kvm" // virtualisation by the processor
	TCG Accelerator = "tcg" // emulation, many times slower
)

// kvmTrial limits the boot by KVM if it is unknown whether KVM works. Some virtual machines offer
// /dev/kvm, but their guests never boot.
const kvmTrial = 15 * time.Second

// Files of this machine; tests replace the paths. The verdict records whether KVM works, until the
// next boot.
var (
	verdictFile = "/run/airtide/kvm"
	kvmDevice   = "/dev/kvm"
	bootIDFile  = "/proc/sys/kernel/random/boot_id"
)

// kvmVerdict reports whether KVM works, and whether this is known.
func kvmVerdict() (works, known bool) {
	device, err := os.OpenFile(kvmDevice, os.O_RDWR, 0)
	if err != nil {
		return false, true
	}
	device.Close()
	text, err := os.ReadFile(verdictFile)
	if err != nil {
		return false, false
	}
	verdict, boot, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	return verdict == "yes", boot == bootID()
}

// rememberKVM stores a verdict. Without a stored verdict the next guest tries KVM again.
func rememberKVM(works bool) {
	verdict := "no"
	if works {
		verdict = "yes"
	}
	if os.MkdirAll(filepath.Dir(verdictFile), 0o755) == nil {
		_ = os.WriteFile(verdictFile, []byte(verdict+" "+bootID()+"\n"), 0o644)
	}
}

func bootID() string {
	text, _ := os.ReadFile(bootIDFile)
	return strings.TrimSpace(string(text))
}
