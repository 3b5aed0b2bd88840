//go:build kernel

package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airtide/test/need"
)

// checkout copies the tracked files into a new folder, where a script may write.
func checkout(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	copied := exec.Command("sh", "-c", `git ls-files -z | xargs -0 cp --parents -t "$0"`, folder)
	copied.Dir = "../.."
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("copying the source: %v\n%s", err, out)
	}
	return folder
}

// The scripts that take an hour, a mirror or two builds run in their short modes, which their
// heads describe. make dist makes their input.
func TestScriptsRun(t *testing.T) {
	need.Root(t)
	root := checkout(t)
	out := t.TempDir()
	database := filepath.Join(out, "vulnerabilities", "index")
	if err := os.MkdirAll(database, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"db.json": `{"modified": "2026-01-01T00:00:00Z"}`, "modules.json": "[]", "vulns.json": "[]",
	} {
		if err := os.WriteFile(filepath.Join(database, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := strings.NewReplacer("OUT", out)
	type run struct {
		command string
		want    string // in the output
	}
	runs := []run{
		{"make -s dist ARCHS=$(go env GOARCH)", "SHA256SUMS"},
		{"scripts/generate ./airtide OUT/share && ls OUT/share/man", "airtide-record.1"},
		{
			"scripts/install ./airtide /usr OUT/installed OUT/share && OUT/installed/usr/bin/airtide version && " +
				"find OUT/installed", "/usr/lib/systemd/system/airtide-share.service",
		},
		{
			"scripts/sign OUT/key && cd dist && ssh-keygen -Y verify -f release.pub -I airtide -n airtide " +
				"-s SHA256SUMS.sig <SHA256SUMS", `Good "airtide" signature`,
		},
		{"SHORT=1 scripts/test-release", "signed and verified; changes are found"},
		{"SHORT=1 scripts/test-dist", "nothing is left"},
		{
			"GOVULNDB=file://OUT/vulnerabilities PACKAGES=./internal/units scripts/vuln", "No vulnerabilities found",
		},
		{
			"! GOVULNDB=http://127.0.0.1:1 PACKAGES=./internal/units scripts/vuln", "nothing was checked",
		},
		{"scripts/test-kernels -dry-run -guests '^6.12-amd64' -out OUT/kernels", "6.12-amd64: some"},
		{"DRY_RUN=1 scripts/test-timewarp ./airtide OUT/timewarp", "| 100 | 4 | 100.000000 |"},
		{"SHORT=1 scripts/demo ./airtide OUT/demo && ls OUT/demo", "rtt-with.png"},
		{"SHORT=OUT/traces scripts/record-share-traces ./airtide slow && ls OUT/traces", "slow-far.json.gz"},
		{"scripts/fuzz 1x FuzzDuration", "PASS"},
		{"scripts/size", "stripped:"},
	}
	for _, name := range commands(t, filepath.Join(root, "scripts")) {
		// make test runs the first four. check is a part of it. kernel-lib is sourced by others.
		if slices.Contains([]string{"lint", "setup", "test", "tools", "check", "kernel-lib"}, name) {
			continue
		}
		started := slices.ContainsFunc(runs, func(r run) bool {
			return slices.ContainsFunc(strings.Fields(r.command), func(word string) bool {
				return filepath.Base(word) == name
			})
		})
		if !started {
			t.Errorf("no run of scripts/%s", name)
		}
	}
	for _, c := range runs {
		t.Run(c.command, func(t *testing.T) {
			if strings.Contains(c.command, "scripts/demo") || strings.Contains(c.command, "traces") {
				need.Lab(t)
			}
			cmd := exec.Command("bash", "-c", at.Replace(c.command))
			cmd.Dir = root
			text, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(text), c.want) {
				t.Errorf("%v, want %q in:\n%s", err, c.want, text)
			}
		})
	}
}
