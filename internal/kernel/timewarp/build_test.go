package timewarp

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// headers makes a folder that passes for a kernel's headers: its make rule "modules" does what is
// given.
func headers(t *testing.T, config, rule string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"include/config/auto.conf": config, "Makefile": "modules:\n\t" + rule + "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const modular = "CONFIG_MODULES=y\nCONFIG_KPROBES=y\nCONFIG_KRETPROBES=y\nCONFIG_HZ=250\n"

func TestBuildGivesMakeTheSourcesAndTakesTheModule(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	output := filepath.Join(t.TempDir(), "new", "timewarp.ko")
	module := filepath.Join(t.TempDir(), "built.ko")
	writeModule(t, module, "6.1.0-test")
	dir := headers(t, modular, "@echo arch $(ARCH); grep -q 'timewarp-y' $(M)/Kbuild && cp "+module+" $(M)/timewarp.ko")
	var log bytes.Buffer
	path, err := Build(t.Context(), BuildOptions{Headers: dir, Output: output, Make: []string{"ARCH=arm64"}, Log: &log})
	if err != nil || path != output {
		t.Fatalf("%s, %v", path, err)
	}
	if release, err := ModuleRelease(output); err != nil || release != "6.1.0-test" {
		t.Errorf("the module is for %s, %v", release, err)
	}
	if !strings.Contains(log.String(), "arch arm64") {
		t.Errorf("make printed %s", &log)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "airtide-timewarp-*")); len(left) > 0 {
		t.Errorf("building left %v", left)
	}
}

func TestMakeDoesNotGetTheCallersEnvironment(t *testing.T) {
	for name, value := range map[string]string{"MAKEFLAGS": "-i", "KBUILD_EXTRA_SYMBOLS": "/tmp/planted"} {
		t.Setenv(name, value)
	}
	var log bytes.Buffer
	dir := headers(t, modular, "@echo 'flags <$(MAKEFLAGS)> symbols <$(KBUILD_EXTRA_SYMBOLS)>'; exit 1")
	_, err := Build(t.Context(), BuildOptions{Headers: dir, Output: filepath.Join(t.TempDir(), "x.ko"), Log: &log})
	if err == nil || !strings.Contains(err.Error(), "building") || strings.Contains(log.String(), "planted") {
		t.Errorf("error %v; make printed %s", err, &log)
	}
}

func TestWhatCannotBeBuiltSaysWhy(t *testing.T) {
	for name, c := range map[string]struct{ headers, want string }{
		"absent":        {filepath.Join(t.TempDir(), "none"), "no headers of a configured kernel"},
		"no modules":    {headers(t, "CONFIG_KPROBES=y\n", "true"), "without CONFIG_MODULES"},
		"no kprobes":    {headers(t, "CONFIG_MODULES=y\n", "true"), "without CONFIG_KPROBES"},
		"no kretprobes": {headers(t, "CONFIG_MODULES=y\nCONFIG_KPROBES=y\n", "true"), "without CONFIG_KRETPROBES"},
		"compiler": {
			headers(t, modular, "@echo some error of the compiler; exit 1"), "some error of the compiler",
		},
		"made no module": {headers(t, modular, "true"), "opening the module"},
	} {
		output := filepath.Join(t.TempDir(), "timewarp.ko")
		if _, err := Build(
			t.Context(), BuildOptions{Headers: c.headers, Output: output},
		); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s gives: %v", name, err)
		}
		if _, err := os.Stat(output); err == nil {
			t.Errorf("%s left a file", name)
		}
	}
}
