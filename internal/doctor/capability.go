package doctor

import (
	"slices"

	"golang.org/x/sys/unix"
)

// capability is a number of capabilities(7).
type capability uint

const (
	capNetAdmin    capability = unix.CAP_NET_ADMIN
	capNetRaw      capability = unix.CAP_NET_RAW
	capSysModule   capability = unix.CAP_SYS_MODULE
	capSysNice     capability = unix.CAP_SYS_NICE
	capSysPtrace   capability = unix.CAP_SYS_PTRACE
	capSysAdmin    capability = unix.CAP_SYS_ADMIN
	capSysResource capability = unix.CAP_SYS_RESOURCE
	capPerfmon     capability = unix.CAP_PERFMON // Linux 5.8
	capBPF         capability = unix.CAP_BPF     // Linux 5.8
)

const rootRemedy = "run as root, or give the binary the right with setcap"

// capabilityTable lists the capabilities that matter here, with the verbs that need them.
var capabilityTable = []struct {
	number capability
	name   string
	loss   string
	needs  []Need
}{
	{capBPF, "cap_bpf", "no BPF program can be loaded", need(required, bpf, Monitor, Record, CC, Tune, Share)},
	{capPerfmon, "cap_perfmon", "no tracing program can be loaded", need(required, bpf, Monitor, Record, Share)},
	{
		capNetAdmin,
		"cap_net_admin",
		"no congestion control, link or queueing discipline can be set up",
		need(required, "", Cell, Lab, CC, Tune, Share),
	},
	{capNetRaw, "cap_net_raw", "no packets can be captured", nil},
	{
		capSysAdmin, "cap_sys_admin", "network namespaces cannot be entered: no cells can be set up, and connections " +
			"in other namespaces are not found",
		slices.Concat(need(required, "", Cell, Lab), need(optional, "", Monitor, Record)),
	},
	{
		capSysNice, "cap_sys_nice", "the emulated cell has no real-time priority and falls behind when processors " +
			"are busy",
		need(optional, "", Cell, Lab),
	},
	{capSysPtrace, "cap_sys_ptrace", "the processes of other users are not named", need(optional, "", Monitor, Record)},
	{capSysModule, "cap_sys_module", "no kernel module can be loaded", need(required, "", Timewarp)},
	// Since Linux 5.11 BPF objects are charged to the memory cgroup; see check bpf_memory_limit.
	{
		capSysResource,
		"cap_sys_resource",
		"the limit on locked memory cannot be raised (needed only before kernel 5.11)",
		nil,
	},
}

// has reports whether a capability is effective. CAP_SYS_ADMIN includes CAP_BPF and CAP_PERFMON.
func (m *machine) has(c capability) bool {
	if c == capBPF || c == capPerfmon {
		return m.effective&(1<<c|1<<capSysAdmin) != 0
	}
	return m.effective&(1<<c) != 0
}

// lacking returns the names of the needed capabilities that are not effective.
func (m *machine) lacking(needs []capability) []string {
	var names []string
	for _, c := range needs {
		if m.has(c) {
			continue
		}
		for _, entry := range capabilityTable {
			if entry.number == c {
				names = append(names, entry.name)
			}
		}
	}
	return names
}

func effectiveCapabilities() (uint64, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return 0, err
	}
	return uint64(data[0].Effective) | uint64(data[1].Effective)<<32, nil
}

func capabilityChecks() []check {
	var checks []check
	for _, c := range capabilityTable {
		checks = append(checks, check{
			name:   c.name,
			group:  groupPrivileges,
			loss:   c.loss,
			remedy: rootRemedy,
			needs:  c.needs,
			probe: func(m *machine) finding {
				switch {
				case !m.has(c.number):
					return missing("this process does not have it: " + c.loss)
				case m.effective&(1<<c.number) == 0:
					return ok("included in cap_sys_admin")
				}
				return ok("")
			},
		})
	}
	return checks
}
