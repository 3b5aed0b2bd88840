package doctor

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/tool"
)

var machineChecks = []check{{
	name:   "kvm",
	group:  groupMachine,
	probe:  probeKVM,
	loss:   "guests with another kernel are emulated, about ten times slower",
	remedy: "a processor with virtualisation and access to /dev/kvm",
}}

// Requests of /dev/kvm (Documentation/virt/kvm/api.rst).
const (
	kvmGetAPIVersion = 0xae00
	kvmCreateVM      = 0xae01
	kvmAPIVersion    = 12
)

// probeKVM makes a virtual machine without memory or processors and closes it.
func probeKVM(m *machine) finding {
	fd, err := unix.Open("/dev/kvm", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) && m.facts.UserID != 0 {
		return unknown("this user may not open /dev/kvm")
	}
	if err != nil {
		return m.judge(fmt.Errorf("opening /dev/kvm: %w", err))
	}
	defer unix.Close(fd)
	version, err := unix.IoctlRetInt(fd, kvmGetAPIVersion)
	if err != nil {
		return m.judge(fmt.Errorf("reading the version of /dev/kvm: %w", err))
	}
	if version != kvmAPIVersion {
		return missing(fmt.Sprintf("/dev/kvm has API version %d instead of %d", version, kvmAPIVersion))
	}
	guest, err := unix.IoctlRetInt(fd, kvmCreateVM)
	if err != nil {
		return m.judge(fmt.Errorf("making a virtual machine: %w", err))
	}
	unix.Close(guest)
	return ok("a virtual machine can be made; none was run")
}

// toolTable lists the programs that airtide runs, by their names in distributions.
var toolTable = []struct {
	name     string
	programs []string
	needs    []Need
	loss     string
	pack     string
}{
	{"ip", []string{"ip"}, nil, "namespaces must be set up by other tools", "iproute2"},
	{"iperf3", []string{"iperf3"}, need(optional, "", Lab), "no flows of protocol tcp and udp", "iperf3"},
	{
		"apache",
		[]string{"apache2", "httpd"},
		need(optional, "", Lab),
		"no flows of protocol http_put, http_get, transfers and web",
		"apache2-bin",
	},
	{
		"curl",
		[]string{"curl"},
		need(optional, "", Lab),
		"no flows of protocol http_put, http_get, transfers and web",
		"curl",
	},
	{"ping", []string{"ping"}, need(optional, "", Lab), "no flows of protocol ping", "iputils-ping"},
	{"tcpdump", []string{"tcpdump"}, need(optional, "", Lab), "no packet captures beside recordings", "tcpdump"},
	{"adb", []string{"adb"}, nil, "phones cannot be reached", "adb"},
	{
		"qemu",
		[]string{"qemu-system-" + qemuArchitecture(runtime.GOARCH)},
		nil,
		"other kernels cannot be tried in a guest",
		"qemu-system",
	},
}

func qemuArchitecture(goarch string) string {
	if name, known := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[goarch]; known {
		return name
	}
	return goarch
}

func toolChecks() []check {
	var checks []check
	for _, t := range toolTable {
		checks = append(checks, check{
			name:   t.name,
			group:  groupTools,
			needs:  t.needs,
			loss:   t.loss,
			remedy: "install the package " + t.pack,
			probe: func(*machine) finding {
				for _, program := range t.programs {
					if path, err := tool.Find(program); err == nil {
						return ok(path, path)
					}
				}
				return missing("not installed")
			},
		})
	}
	return checks
}
