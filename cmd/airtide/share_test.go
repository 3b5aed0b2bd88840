package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unitOfSystemd is the text of a unit that is delivered.
func unitOfSystemd(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../packaging/systemd", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestShareMisuse(t *testing.T) {
	key := filepath.Join(t.TempDir(), "cell.key")
	mustRun(t, "share", "key", "-o", key)
	for _, c := range []struct {
		args   []string
		says   string
		status int
	}{
		{[]string{"hub"}, "--key", statusMisuse},
		{[]string{"run", "--interface", "lo"}, "--key", statusMisuse},
		{[]string{"run", "--key", key}, "give --interface, --peer or both", statusMisuse},
		{[]string{"hub", "--key", key, "--listen", "nowhere"}, "--listen", statusMisuse},
		{[]string{"hub", "--key", key, "--listen", ":0"}, "--listen", statusMisuse},
		{[]string{"hub", "--key", key, "--key", key}, "two keys", statusFailed},
		{[]string{"hub", "--key", "/no/such/file"}, "/no/such/file", statusFailed},
		{[]string{"status", "now"}, "now", statusMisuse},
		{[]string{"status", "--watch", "--interval", "0s"}, "--interval", statusMisuse},
		{[]string{"status", "--interval", "1s"}, "--watch", statusMisuse},
		{
			[]string{"run", "--key", key, "--interface", "lo", "--phy-file", "/no/such/rate"},
			"/no/such/rate",
			statusFailed,
		},
		{[]string{"run", "--key", key, "--interface", "lo", "--otlp", "collector"}, "--otlp", statusMisuse},
		{[]string{"run", "--key", key, "--interface", "lo", "--alpha", "-1"}, `--alpha "-1"`, statusMisuse},
		{[]string{"run", "--key", key, "--interface", "lo", "--alpha", "nan"}, `--alpha "nan"`, statusMisuse},
		{[]string{"run", "--key", key, "--interface", "lo", "--multicast-rate", "6"}, "--multicast-rate", statusMisuse},
		{
			[]string{"run", "--key", key, "--interface", "lo", "--metrics", "no address"},
			"serving metrics",
			statusFailed,
		},
	} {
		stdout, stderr, status := run(t, append([]string{"share"}, c.args...)...)
		if status != c.status || !strings.Contains(stderr, c.says) || stdout != "" {
			t.Errorf("airtide share %s: status %d, %q, %q", strings.Join(c.args, " "), status, stdout, stderr)
		}
	}
	for _, verb := range []string{"run", "status", "hub", "key"} {
		if out := mustRun(t, "share", verb, "--help"); !strings.Contains(out, "Examples:") ||
			!strings.Contains(out, "airtide share "+verb) {
			t.Errorf("airtide share %s --help has no examples", verb)
		}
	}
}

// TestUnitsOfSystemd has systemd look at the units as they are installed, with this binary.
func TestUnitsOfSystemd(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The most of what systemd-analyze security says, times ten.
	exposure := map[string]string{"airtide-share.service": "26", "airtide-share-hub.service": "12"}
	for unit, env := range map[string]string{
		"airtide-share.service": "share.env", "airtide-share-hub.service": "share-hub.env",
	} {
		text := unitOfSystemd(t, unit)
		if !strings.Contains(text, "EnvironmentFile=/etc/airtide/"+env) {
			t.Errorf("%s does not name %s", unit, env)
		}
		if !regexp.MustCompile(`(?m)^SystemCallFilter=[^~].*\bseccomp\b`).MatchString(text) {
			t.Errorf("%s forbids the program to confine itself", unit)
		}
		if _, err := os.Stat(filepath.Join("../../packaging/systemd", env)); err != nil {
			t.Error(err)
		}
		installed := filepath.Join(t.TempDir(), unit)
		if err := os.WriteFile(
			installed, []byte(strings.ReplaceAll(text, "/usr/local/bin/airtide", exe)), 0o600,
		); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager",
			"--threshold="+exposure[unit], installed).CombinedOutput(); err != nil {
			t.Errorf("%s is exposed more than %s of 100: %v\n%s", unit, exposure[unit], err, out)
		}
		out, err := exec.Command(analyze, "verify", installed).CombinedOutput()
		if err != nil || strings.Contains(string(out), unit) {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
}
