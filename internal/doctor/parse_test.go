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
