package doctor

import "testing"

func TestDistributionName(t *testing.T) {
	for _, c := range []struct{ name, osRelease, buildProp, want string }{
		{"Debian", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian\"\n", "", "Debian GNU/Linux 12 " +
			"(bookworm)"},
		{"unquoted", "ID=x\nPRETTY_NAME=Alpine\n", "", "Alpine"},
		{"Android", "", "ro.build.id=A\nro.build.version.release=14\n", "Android 14"},
		{"neither file", "", "", "unknown"},
	} {
		if got := distribution(c.osRelease, c.buildProp); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCgroupMount(t *testing.T) {
	const hybrid = `24 18 0:22 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
25 24 0:23 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
26 24 0:24 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw`
	const unified = `26 18 0:24 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate`
	for _, c := range []struct{ name, mountinfo, want string }{
		{"hybrid", hybrid, "/sys/fs/cgroup/unified"},
		{"unified", unified, "/sys/fs/cgroup"},
		{"version 1 only", "25 24 0:23 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu", ""},
		{"nothing", "", ""},
		{"torn line", "25 24 - cgroup2 ", ""},
	} {
		if got := cgroupMount(c.mountinfo); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLockdownMode(t *testing.T) {
	for text, want := range map[string]Status{
		"":                                     OK,
		"[none] integrity confidentiality":     OK,
		"none [integrity] confidentiality":     OK, // forbids writing, not reading
		"none integrity [confidentiality]":     Refused,
		"none integrity [confidentiality] new": Refused,
	} {
		if got := lockdown(text); got.status != want {
			t.Errorf("%q: got %s, want %s", text, got.status, want)
		}
	}
}

func TestClockSourceCost(t *testing.T) {
	for name, want := range map[string]Status{
		"tsc": OK, "arch_sys_counter": OK, "kvm-clock": OK, "hpet": Limited, "acpi_pm": Limited, "": Unknown,
	} {
		if got := clockSource(name); got.status != want {
			t.Errorf("%q: got %s, want %s", name, got.status, want)
		}
	}
}
