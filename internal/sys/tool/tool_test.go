package tool

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// script puts a program into a folder of its own and returns the folder.
func script(t *testing.T, name, text string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// as makes this process pass for root or for another user, with a single folder of tools.
func as(t *testing.T, isRoot bool, folder string) {
	beforeRoot := root
	beforeFolders := Folders
	t.Cleanup(func() {
		root = beforeRoot
		Folders = beforeFolders
	})
	root = isRoot
	Folders = []string{folder}
}

func TestRootFindsToolsInFixedFoldersOnly(t *testing.T) {
	system := script(t, "gauge", "echo system")
	callers := script(t, "gauge", "echo caller")
	t.Setenv("PATH", "relative:"+callers)
	for _, c := range []struct {
		root   bool
		folder string
	}{{true, system}, {false, callers}} {
		as(t, c.root, system)
		if path, err := Find("gauge"); err != nil || path != filepath.Join(c.folder, "gauge") {
			t.Errorf("root %t: found %q, %v", c.root, path, err)
		}
	}
	as(t, true, t.TempDir())
	if path, err := Find("gauge"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("without the tool root found %q, %v", path, err)
	}
	if err := Command(t.Context(), "gauge").Run(); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("starting a missing tool: %v", err)
	}
}

func TestFindWantsAProgram(t *testing.T) {
	folder := t.TempDir()
	as(t, true, folder)
	if err := os.Mkdir(filepath.Join(folder, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "text"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"folder", "text"} {
		if path, err := Find(name); err == nil {
			t.Errorf("%s is found as %s", name, path)
		}
	}
}

func TestToolsGetAShortEnvironment(t *testing.T) {
	as(t, true, script(t, "gauge", "/usr/bin/env"))
	for name, value := range map[string]string{
		"LD_PRELOAD": "", "MAKEFLAGS": "--eval=x", "APT_CONFIG": "/tmp/x", "TMPDIR": "/var/tmp", "PATH": "/tmp/bin",
	} {
		t.Setenv(name, value)
	}
	out, err := Command(t.Context(), "gauge").Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name == "PATH" && value != Folders[0] {
			t.Errorf("PATH is %s", value)
		}
		if name != "PWD" && name != "_" && name != "SHLVL" { // set by some shells
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if want := []string{"LC_ALL", "PATH", "TMPDIR"}; !slices.Equal(names, want) {
		t.Errorf("a tool has %q, expected %q", names, want)
	}
}

func TestDownloadsKeepTheProxy(t *testing.T) {
	t.Setenv("http_proxy", "http://192.0.2.1:3128")
	if got := Proxies(); !slices.Contains(got, "http_proxy=http://192.0.2.1:3128") {
		t.Errorf("proxies %q", got)
	}
}
