package vm

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Accelerator is how qemu runs a guest's instructions.
type Accelerator string

// The accelerators.
const (
	KVM Accelerator = "kvm" // by the processor
	TCG Accelerator = "tcg" // by emulation, many times slower
)

// kvmTrial is what a guest may take to boot by KVM where it is not known whether KVM works. There
// are virtual machines that offer it and in which a guest never gets anywhere.
const kvmTrial = 15 * time.Second

// Files of this machine, which tests put elsewhere. The verdict says whether KVM works on it, since
// its start.
var (
	verdictFile = "/run/airtide/kvm"
	kvmDevice   = "/dev/kvm"
	bootIDFile  = "/proc/sys/kernel/random/boot_id"
)

// kvmVerdict is whether KVM works, and whether that is known.
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

// rememberKVM keeps a verdict. Without it the next guest tries again.
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
