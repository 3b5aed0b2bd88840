// Package tool finds and runs programs of the system, such as make and qemu. Root's tools come from
// fixed folders and get a short environment, so that neither depends on the caller's.
package tool

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Folders are the folders of the system's programs. Tests replace them.
var Folders = []string{
	"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
	"/run/current-system/sw/bin", // NixOS has no others
}

// root reports whether this process runs as root, except in tests.
var root = os.Geteuid() == 0

// Find returns the absolute path of a tool. Users other than root may have tools of their own in
// PATH. The error wraps exec.ErrNotFound.
func Find(name string) (string, error) {
	for _, folder := range folders() {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// folders returns the folders to search, with absolute paths.
func folders() []string {
	if root {
		return Folders
	}
	var all []string
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(folder) {
			all = append(all, folder)
		}
	}
	return append(all, Folders...)
}

// Command prepares a tool with its short environment. If the tool is missing, Cmd.Start fails.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	path, err := Find(name)
	c := exec.CommandContext(ctx, path, args...)
	c.Args[0] = name
	c.Err = err
	if err != nil {
		c.Err = fmt.Errorf("starting %s: %w", name, err)
	}
	c.Env = Environment()
	return c
}

// Environment returns the environment of tools: the language C, the searched folders, and the
// folder for temporary files.
func Environment() []string {
	env := []string{"LC_ALL=C", "PATH=" + strings.Join(folders(), ":")}
	if dir, ok := os.LookupEnv("TMPDIR"); ok {
		env = append(env, "TMPDIR="+dir)
	}
	return env
}

// Proxies returns the settings of this process's environment that downloading needs.
func Proxies() []string {
	var env []string
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy", "no_proxy"} {
		for _, name := range []string{name, strings.ToUpper(name)} {
			if value, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+value)
			}
		}
	}
	return env
}
