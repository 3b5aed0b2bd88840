package doctor

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/owner"
)

var kernelChecks = []check{
	{
		name:  "btf",
		group: groupKernel,
		probe: probeBTF,
		needs: need(required, bpf, Monitor, Record, CC, Tune, Share),
		loss:  "BPF programs cannot be adapted to this kernel",
		remedy: "a kernel with CONFIG_DEBUG_INFO_BTF=y, or a BTF file for exactly this kernel (from bpftool gen " +
			"min_core_btf or BTFHub)",
	},
	{
		name:   "bpf_jit",
		group:  groupKernel,
		probe:  probeJIT,
		needs:  need(optional, bpf, Monitor, Record, CC, Share),
		loss:   "BPF programs are interpreted, which takes several times longer per ACK",
		remedy: "sysctl net.core.bpf_jit_enable=1",
	},
	{
		name:   "lockdown",
		group:  groupKernel,
		probe:  func(*machine) finding { return lockdown(readText("/sys/kernel/security/lockdown")) },
		needs:  need(required, bpf, Monitor, Record, Share),
		loss:   "BPF programs may not read kernel memory",
		remedy: "boot without lockdown=confidentiality",
	},
	{
		name:  "loadable_modules",
		group: groupKernel,
		probe: probeModules,
		needs: need(required, "", Timewarp),
		loss:  "time cannot be accelerated by a module",
		remedy: "a kernel with CONFIG_MODULES=y, booted without " +
			"nomodule",
	},
	{
		name:   "kernel_headers",
		group:  groupKernel,
		probe:  probeHeaders,
		needs:  need(optional, "", Timewarp),
		loss:   "kernel modules cannot be built here",
		remedy: "install the headers of the running kernel",
	},
	{
		name:  "clock_source",
		group: groupKernel,
		probe: func(*machine) finding {
			return clockSource(readText("/sys/devices/system/clocksource/clocksource0/current_clocksource"))
		},
		needs:  need(optional, "", Monitor, Record),
		loss:   "the cost of a time stamp is unknown",
		remedy: "mount /sys",
	},
	{
		name:   "cgroup_v2",
		group:  groupKernel,
		probe:  probeCgroup,
		needs:  slices.Concat(need(required, bpf, Tune, Share), need(optional, "", Monitor, Record)),
		loss:   "connections cannot be selected or tuned by cgroup, and record -- COMMAND records all connections",
		remedy: "mount -t cgroup2 none /sys/fs/cgroup/unified",
	},
}

// probeBTF reads the types of the kernel, or of the file in Options.BTFPath, and looks for the TCP
// structures.
func probeBTF(m *machine) finding {
	path := kernelBTF
	if m.btfPath != "" {
		path = m.btfPath
	}
	if m.typesErr != nil {
		if errors.Is(m.typesErr, os.ErrPermission) {
			return unknown("this user may not read " + path)
		}
		return missing(fmt.Sprintf("%s contains no types: %v", path, m.typesErr))
	}
	for _, name := range []string{"sock", "inet_connection_sock", "tcp_sock"} {
		var found *btf.Struct
		if err := m.types.TypeByName(name, &found); err != nil {
			return missing(fmt.Sprintf("%s has no struct %s", path, name))
		}
	}
	return ok(path, path)
}

func probeJIT(*machine) finding {
	const path = "/proc/sys/net/core/bpf_jit_enable"
	text, err := os.ReadFile(path)
	switch {
	case os.IsNotExist(err):
		return missing("no file " + path)
	case os.IsPermission(err):
		return unknown("needs root to read " + path)
	case err != nil:
		return unknown(err.Error())
	case strings.TrimSpace(string(text)) == "0":
		return missing("switched off")
	}
	return ok("")
}

// lockdown parses /sys/kernel/security/lockdown, which shows the current mode in brackets. In mode
// confidentiality the kernel refuses BPF's reads of its memory (security/lockdown,
// LOCKDOWN_BPF_READ_KERNEL).
func lockdown(text string) finding {
	_, rest, _ := strings.Cut(text, "[")
	mode, _, _ := strings.Cut(rest, "]")
	switch mode {
	case "":
		return ok("none (not built, or securityfs is not mounted)")
	case "confidentiality":
		return finding{Refused, "mode confidentiality", []string{mode}}
	}
	return ok(mode, mode)
}

// probeModules asks the kernel to load a module from an invalid file, which always fails. The error
// shows whether the kernel would load a valid file.
func probeModules(m *machine) finding {
	switch err := unix.FinitModule(-1, "", 0); err {
	case unix.EBADF:
		return ok("")
	case unix.EPERM:
		if readText("/proc/sys/kernel/modules_disabled") == "1" {
			return finding{Refused, "switched off until the next boot (kernel.modules_disabled = 1)", nil}
		}
		if kernelConfig("CONFIG_MODULES") == "y" && len(m.lacking([]capability{capSysModule})) == 0 {
			return finding{
				Refused,
				"present but refused (booted with nomodule, or forbidden by a security module)",
				nil,
			}
		}
		return m.judge(err, capSysModule)
	default:
		return m.judge(err, capSysModule)
	}
}

func probeHeaders(m *machine) finding {
	path := "/lib/modules/" + m.facts.KernelRelease + "/build"
	if _, err := os.Stat(path); err != nil {
		return missing("no folder " + path)
	}
	return ok(path, path)
}

// clockSource judges the cost of reading the clock. A time stamp from a device register takes about
// a microsecond.
func clockSource(name string) finding {
	switch {
	case name == "":
		return unknown("/sys does not show it")
	case slices.Contains([]string{"hpet", "acpi_pm", "jiffies", "pit", "refined-jiffies"}, name):
		return limited(name+": each time stamp is slow or coarse", name)
	}
	return ok(name, name)
}

func probeCgroup(*machine) finding {
	mount, err := owner.CgroupMount()
	if err != nil {
		return missing("not mounted")
	}
	if strings.HasPrefix(mount, owner.PrivateMounts) {
		return ok("not mounted here; airtide mounts it for itself")
	}
	return ok(mount, mount)
}

// kernelConfig returns an option of the running kernel's configuration, or "" if the option is
// unset or unknown.
func kernelConfig(option string) string {
	if packed, err := os.ReadFile("/proc/config.gz"); err == nil {
		if r, err := gzip.NewReader(bytes.NewReader(packed)); err == nil {
			text, _ := io.ReadAll(r)
			return assignment(string(text), option)
		}
	}
	var uts unix.Utsname
	if unix.Uname(&uts) != nil {
		return ""
	}
	return assignment(readText("/boot/config-"+unix.ByteSliceToString(uts.Release[:])), option)
}
