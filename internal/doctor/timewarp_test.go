package doctor

import (
	"strings"
	"testing"
)

func TestVerdictOnTimewarp(t *testing.T) {
	for _, c := range []struct {
		name    string
		changed map[string]Status
		verdict Verdict
		lack    string
	}{
		{"everything is there", nil, Ready, ""},
		{"the module has to be built yet", map[string]Status{"timewarp_module": Limited}, Degraded, "timewarp_module"},
		{"no module and no headers", map[string]Status{"timewarp_module": Missing}, CannotRun, "timewarp_module"},
		{"no modules at all", map[string]Status{"loadable_modules": Missing}, CannotRun, "loadable_modules"},
		{
			"a counter that is not trusted",
			map[string]Status{"timewarp_counter": Missing},
			CannotRun, "timewarp_counter",
		},
		{"only signed modules", map[string]Status{"unsigned_modules": Limited}, Degraded, "unsigned_modules"},
		{"a kernel before 6.4", map[string]Status{"struct_ops_link": Missing}, Degraded, "struct_ops_link"},
		{
			"no BPF for the initial RTO",
			map[string]Status{"sock_ops_initial_rto": Missing},
			Degraded, "sock_ops_initial_rto",
		},
	} {
		v, found := reportWith(c.changed).Verb(Timewarp)
		if !found || v.Verdict != c.verdict || (c.lack == "") != (len(v.Lacks) == 0) ||
			c.lack != "" && v.Lacks[0].Check != c.lack {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

func TestCounterIsLookedForAmongClockSources(t *testing.T) {
	for _, c := range []struct {
		architecture, available string
		want                    Status
	}{
		{"amd64", "tsc hpet acpi_pm", OK},
		{"amd64", "kvm-clock tsc acpi_pm", OK},
		{"amd64", "hpet acpi_pm", Missing}, // found unstable
		{"arm64", "arch_sys_counter", OK},
		{"riscv64", "riscv_clocksource", Missing},
		{"amd64", "", Unknown},
	} {
		if f := counterOf(c.architecture, c.available); f.status != c.want {
			t.Errorf("%s, %q: %+v, want %s", c.architecture, c.available, f, c.want)
		}
	}
}

func TestSignedModulesOnly(t *testing.T) {
	for _, c := range []struct {
		enforce, lockdown string
		want              Status
	}{
		{"N", "[none] integrity confidentiality", OK},
		{"", "", OK},
		{"Y", "[none] integrity confidentiality", Limited},
		{"N", "none [integrity] confidentiality", Limited},
		{"N", "none integrity [confidentiality]", Limited},
	} {
		if f := unsignedModules(c.enforce, c.lockdown); f.status != c.want {
			t.Errorf("sig_enforce %q, lockdown %q: %+v, want %s", c.enforce, c.lockdown, f, c.want)
		}
	}
}

func TestFunctionsAreFoundByName(t *testing.T) {
	const all = `ffffffff81000000 T register_kprobe
ffffffff81000010 T register_kretprobe
ffffffff81000020 T tick_get_device
ffffffff81000030 T clockevents_update_freq
ffffffff81000040 T tcp_init_metrics
ffffffff81000050 t tcp_ack_update_rtt.isra.0
ffffffff81000060 t tcp_ack_update_rtt_more	[module]
ffffffff81000070 t tcp_ack_update_rtt.part.0
ffffffff81000080 t tcp_ack_update_rtt.cold
`
	for _, c := range []struct {
		without, says string
		want          Status
	}{
		{"", "", OK},
		{"tcp_ack_update_rtt.isra.0", "--rto paper", Limited},
		{"tcp_init_metrics", "--rto bounds", Limited},
		{"clockevents_update_freq", "clockevents_update_freq", Missing},
	} {
		text := all
		if c.without != "" {
			text = strings.ReplaceAll(all, c.without, "another")
		}
		found, err := functionsIn(strings.NewReader(text))
		if f := judgeFunctions(found); err != nil || f.status != c.want || !strings.Contains(f.detail, c.says) {
			t.Errorf("without %q: %+v, %v, want %s", c.without, f, err, c.want)
		}
	}
}
