package vm

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// listTime limits the time in which the dynamic linker lists a program's libraries.
const listTime = 10 * time.Second

// libraries returns the libraries that the host's dynamic linker finds for a program, and the
// linker. A static program has none.
func libraries(ctx context.Context, program string) ([]string, error) {
	linker, err := interpreter(program)
	if err != nil || linker == "" {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	c := exec.CommandContext(ctx, linker, "--list", program)
	c.Env = []string{"LC_ALL=C"}
	text, err := c.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("asking for the libraries of %s: %w: %s", program, err, bytes.TrimSpace(text))
	}
	all := []string{linker}
	for line := range strings.Lines(string(text)) {
		// "libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...)"; without an arrow it is the
		// linker, or the kernel's own.
		_, found, ok := strings.Cut(line, " => ")
		if !ok {
			continue
		}
		file, _, _ := strings.Cut(strings.TrimSpace(found), " ")
		if !filepath.IsAbs(file) {
			return nil, fmt.Errorf("%s needs a missing library: %s", program, strings.TrimSpace(line))
		}
		all = append(all, file)
	}
	return all, nil
}

// interpreter returns the dynamic linker of a program; empty for a static program.
func interpreter(program string) (string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", program, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, p.Filesz)
		if _, err := p.ReadAt(name, 0); err != nil {
			return "", fmt.Errorf("reading %s: %w", program, err)
		}
		return string(bytes.TrimRight(name, "\x00")), nil
	}
	return "", nil
}

// addPrograms adds programs of the host at their paths on the host, with their libraries.
func (a *archive) addPrograms(ctx context.Context, programs []string) error {
	added := map[string]bool{}
	for _, program := range programs {
		files, err := libraries(ctx, program)
		if err != nil {
			return err
		}
		for _, file := range append(files, program) {
			if added[file] {
				continue
			}
			added[file] = true
			a.copy(file, file)
		}
	}
	return a.err
}

// self returns this program's file.
func self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program for the guest: %w", err)
	}
	return path, nil
}
