package bpf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
)

func TestHostileFilesOfTypes(t *testing.T) {
	dir := t.TempDir()
	sparse := filepath.Join(dir, "sparse")
	if err := os.WriteFile(sparse, []byte("\x9f\xeb\x01\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 1<<40); err != nil {
		t.Fatal(err)
	}
	var large *file.TooLargeError
	if _, err := ReadTypes(sparse); !errors.As(err, &large) {
		t.Errorf("a file of 1 TB gives %v", err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, "/dev/zero"} {
		if _, err := ReadTypes(path); !errors.Is(err, file.ErrNotRegular) {
			t.Errorf("%s gives %v", path, err)
		}
	}
	if _, err := ReadTypes(dir); err == nil {
		t.Error("a folder has types")
	}
}

func TestRefusalsForWantOfMemoryHaveARemedy(t *testing.T) {
	err := explain(fmt.Errorf("map flows: map create: %w", unix.ENOMEM))
	if !errors.Is(err, unix.ENOMEM) || !strings.Contains(err.Error(), "--max-flows") {
		t.Error(err)
	}
}

func TestTypesOfThisKernel(t *testing.T) {
	const kernel = "/sys/kernel/btf/vmlinux"
	if _, err := os.Stat(kernel); err != nil {
		t.Skip("this kernel has no BTF")
	}
	types, err := ReadTypes(kernel)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := types.AnyTypesByName("tcp_sock"); err != nil {
		t.Error(err)
	}
}
