package doctor

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"

	"airtide/internal/sys/tool"
)

// timewarpChecks are the needs of accelerated time. Loading the module is not tried, because it
// would change the time of the whole machine.
var timewarpChecks = []check{
	{
		name:  "timewarp_module",
		group: groupTime,
		probe: probeTimewarpModule,
		needs: need(required, "", Timewarp),
		loss:  "no module to load",
		remedy: "airtide timewarp build, with make, a compiler and the kernel's headers; or --module FILE with a " +
			"module built elsewhere",
	},
	{
		name:  "timewarp_counter",
		group: groupTime,
		probe: func(*machine) finding {
			return counterOf(runtime.GOARCH,
				readText("/sys/devices/system/clocksource/clocksource0/available_clocksource"))
		},
		needs:  need(required, "", Timewarp),
		loss:   "the module has no counter that the kernel trusts",
		remedy: "on amd64: boot with tsc=reliable",
	},
	{
		name:   "timewarp_functions",
		group:  groupTime,
		probe:  probeTimewarpFunctions,
		needs:  need(required, "", Timewarp),
		loss:   "the module does not find the kernel functions that it calls",
		remedy: "a kernel with CONFIG_KPROBES=y, CONFIG_KRETPROBES=y and high resolution timers",
	},
	{
		name:  "unsigned_modules",
		group: groupTime,
		probe: func(*machine) finding {
			return unsignedModules(readText("/sys/module/module/parameters/sig_enforce"),
				readText("/sys/kernel/security/lockdown"))
		},
		needs:  need(required, "", Timewarp),
		loss:   "only signed modules can be loaded",
		remedy: "sign the module, or switch off Secure Boot",
	},
	{
		name:  "sock_ops_initial_rto",
		group: groupTime,
		probe: func(m *machine) finding {
			return m.judgeBPF(features.HaveProgramHelper(ebpf.SockOps, asm.FnProbeReadKernel), capNetAdmin)
		},
		needs:  need(optional, "", Timewarp),
		loss:   "TCP's initial timeout does not follow accelerated time, so SYNs are retransmitted too early",
		remedy: "kernel 5.9 or newer with CONFIG_CGROUP_BPF=y",
	},
}

// probeTimewarpModule looks for a built module, and otherwise for the tools that build it.
func probeTimewarpModule(m *machine) finding {
	if m.timewarpModule != "" {
		return ok(m.timewarpModule, m.timewarpModule)
	}
	if f := probeHeaders(m); f.status != OK {
		return missing("none for this kernel, and " + f.detail)
	}
	for _, name := range []string{"make", "gcc"} {
		if _, err := tool.Find(name); err != nil {
			return missing("none for this kernel, and no " + name)
		}
	}
	return limited("not built yet from the sources of this airtide: run airtide timewarp build")
}

// counterOf looks for the machine's counter among the clock sources. The kernel removes a counter
// from the list if it does not trust it.
func counterOf(architecture, available string) finding {
	counter, known := map[string]string{"amd64": "tsc", "arm64": "arch_sys_counter"}[architecture]
	switch {
	case !known:
		return missing("no module exists for " + architecture)
	case available == "":
		return unknown("/sys does not show it")
	case slices.Contains(strings.Fields(available), counter):
		return ok(counter, counter)
	}
	return missing(counter + " is not among " + available)
}

// unsignedModules reads /sys/module/module/parameters/sig_enforce and
// /sys/kernel/security/lockdown.
func unsignedModules(enforce, lockdown string) finding {
	_, rest, _ := strings.Cut(lockdown, "[")
	mode, _, _ := strings.Cut(rest, "]")
	switch {
	case enforce == "Y":
		return limited("this kernel accepts only signed modules (module.sig_enforce)")
	case mode != "" && mode != "none":
		return limited("this kernel accepts only signed modules (lockdown, mode " + mode + ")")
	}
	return ok("")
}

// timewarpFunctions are the kernel functions that the module looks up by name. loss is the feature
// that is unavailable without the function; "" means the whole module.
var timewarpFunctions = []struct{ name, loss string }{
	{"register_kprobe", ""},
	{"register_kretprobe", ""},
	{"tick_get_device", ""},
	{"clockevents_update_freq", ""},
	{"tcp_init_metrics", "--rto bounds"},
	{"tcp_ack_update_rtt", "--rto paper"},
}

// timewarpVariants are the compiler's names for optimised copies of a function, which the module
// accepts too (hook_paper in kmod/timewarp/tcp.c).
var timewarpVariants = map[string]string{
	"tcp_ack_update_rtt.isra.0":      "tcp_ack_update_rtt",
	"tcp_ack_update_rtt.constprop.0": "tcp_ack_update_rtt",
}

// probeTimewarpFunctions reads the names of the kernel's functions. Every user may read the names,
// unlike the addresses.
func probeTimewarpFunctions(*machine) finding {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return unknown(err.Error())
	}
	defer f.Close()
	found, err := functionsIn(f)
	if err != nil {
		return unknown(err.Error())
	}
	return judgeFunctions(found)
}

func judgeFunctions(found map[string]bool) finding {
	var partly finding
	for _, function := range timewarpFunctions {
		switch {
		case found[function.name]:
		case function.loss == "":
			return missing("this kernel has no function " + function.name)
		default:
			partly = limited(fmt.Sprintf("no %s: this kernel has no function %s", function.loss, function.name))
		}
	}
	if partly.status != "" {
		return partly
	}
	return ok("")
}

// functionsIn finds the functions of the module in the text of /proc/kallsyms: address, type, name.
func functionsIn(kallsyms io.Reader) (map[string]bool, error) {
	found := map[string]bool{}
	lines := bufio.NewScanner(kallsyms)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 {
			continue
		}
		name := fields[2]
		if plain, known := timewarpVariants[name]; known {
			name = plain
		}
		for _, function := range timewarpFunctions {
			if name == function.name {
				found[name] = true
			}
		}
	}
	return found, lines.Err()
}
