package doctor

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	source "airtide/internal/observe/bpf"
)

// Machine describes the host that was examined.
type Machine struct {
	KernelRelease string `json:"kernel_release"`
	Architecture  string `json:"architecture"`
	Distribution  string `json:"distribution"`
	CPUs          int    `json:"cpus"`
	MemoryBytes   uint64 `json:"memory_bytes"`
	UserID        int    `json:"user_id"`
	// Capabilities are the effective entries of capabilityTable.
	Capabilities []string `json:"capabilities"`
}

// kernelBTF is the file with the kernel's own types (CONFIG_DEBUG_INFO_BTF).
const kernelBTF = "/sys/kernel/btf/vmlinux"

// machine is the state that all probes share.
type machine struct {
	facts     Machine
	effective uint64 // capabilities, bit by number
	// types are the types of the kernel or of the file in Options.BTFPath.
	types    *btf.Spec
	typesErr error
	btfPath  string
	// timewarpModule is the path of the module that the caller found, or "".
	timewarpModule string
	// memlock is the error from lifting the limit on locked memory. Kernels before 5.11 charge BPF
	// objects to this limit.
	memlock error
}

func newMachine(o Options) (*machine, error) {
	m := &machine{btfPath: o.BTFPath, timewarpModule: o.TimewarpModule}
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return nil, fmt.Errorf("reading the kernel's release: %w", err)
	}
	m.facts = Machine{
		KernelRelease: unix.ByteSliceToString(uts.Release[:]),
		Architecture:  unix.ByteSliceToString(uts.Machine[:]),
		Distribution:  distribution(readText("/etc/os-release"), readText("/system/build.prop")),
		CPUs:          runtime.NumCPU(),
		UserID:        os.Geteuid(),
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.facts.MemoryBytes = uint64(info.Totalram) * uint64(info.Unit)
	}
	var err error
	m.effective, err = effectiveCapabilities()
	if err != nil {
		return nil, fmt.Errorf("reading the capabilities: %w", err)
	}
	m.facts.Capabilities = []string{}
	for _, c := range capabilityTable {
		if m.has(c.number) {
			m.facts.Capabilities = append(m.facts.Capabilities, c.name)
		}
	}
	m.types, m.typesErr = loadTypes(m.btfPath)
	m.memlock = rlimit.RemoveMemlock()
	return m, nil
}

// loadTypes reads the kernel's types from a file, or from the kernel itself if path is empty.
func loadTypes(path string) (*btf.Spec, error) {
	if path != "" {
		return source.ReadTypes(path)
	}
	if _, err := os.Stat(kernelBTF); err != nil {
		return nil, err
	}
	return btf.LoadKernelSpec()
}

// knows reports if the kernel's types contain a name. If the types are missing, certain is false.
func (m *machine) knows(name string) (found, certain bool) {
	if m.typesErr != nil {
		return false, false
	}
	_, err := m.types.AnyTypesByName(name)
	return err == nil, err == nil || errors.Is(err, btf.ErrNotFound)
}

// distribution returns the name from the text of os-release (os-release(5)) or of an Android
// build.prop.
func distribution(osRelease, buildProp string) string {
	if name := assignment(osRelease, "PRETTY_NAME"); name != "" {
		return name
	}
	if release := assignment(buildProp, "ro.build.version.release"); release != "" {
		return "Android " + release
	}
	return "unknown"
}

// assignment finds the value of key in lines of the form key=value or key="value".
func assignment(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, found := strings.Cut(strings.TrimSpace(line), "="); found && k == key {
			return strings.Trim(v, `"'`)
		}
	}
	return ""
}

// readText returns the trimmed text of a file; "" if it cannot be read.
func readText(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
