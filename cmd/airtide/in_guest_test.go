//go:build guest

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"airtide/internal/vm"
	"airtide/test/need"
)

// inGuest boots a guest with this program, the named programs and files, and modules. The returned
// function runs a shell script there, which ends within three minutes, and returns its output.
func inGuest(
	t *testing.T, kernel vm.Kernel, programs []string, files map[string]string, modules ...string,
) func(script string, args ...string) (stdout []byte, stderr string) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{shell}
	for _, name := range programs {
		paths = append(paths, need.Tool(t, name))
	}
	folder := t.TempDir()
	sources := map[string]string{}
	for path, text := range files {
		sources[path] = filepath.Join(folder, filepath.Base(path))
		if err := os.WriteFile(sources[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var console bytes.Buffer
	g, err := vm.Start(t.Context(), vm.Config{
		Kernel: kernel, Program: built(t), Programs: paths, Files: sources, Modules: modules, MemoryMB: 768,
		Console: &console,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return func(script string, args ...string) ([]byte, string) {
		t.Helper()
		ctx, end := context.WithTimeout(t.Context(), 3*time.Minute)
		defer end()
		var out, said bytes.Buffer
		err := g.Run(ctx, vm.Command{
			Path: shell, Args: append([]string{"-c", script, "sh"}, args...),
			Env:    []string{"PATH=/bin:/sbin:/usr/bin:/usr/sbin"},
			Stdout: &out, Stderr: &said,
		})
		if err != nil {
			t.Fatalf("%q: %v\n%s\n%s\n%s", args, err, &out, &said, &console)
		}
		return out.Bytes(), said.String()
	}
}
