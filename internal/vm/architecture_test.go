package vm

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestGuestsOfOtherArchitectures(t *testing.T) {
	c := Config{Kernel: Kernel{Image: "/vmlinuz", Modules: "/modules", Architecture: "arm64"}}
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	args := c.arguments(emulators[c.Kernel.architecture()], TCG)
	for option, want := range map[string]string{"-machine": "virt", "-cpu": "max", "-append": "console=ttyAMA0"} {
		if i := slices.Index(args, option); i < 0 || !strings.Contains(args[i+1], want) {
			t.Errorf("%s is not %s in %v", option, want, args)
		}
	}
	if err := AvailableFor("mips"); err == nil || !strings.Contains(err.Error(), "mips") {
		t.Errorf("guests of an unknown architecture: %v", err)
	}
	if _, err := CachedFor("6.1", "mips"); err == nil || errors.Is(err, ErrNoKernel) {
		t.Errorf("a kernel of an unknown architecture: %v", err)
	}
	if a, b := place("bookworm", "amd64"), place("bookworm", "arm64"); a == b {
		t.Errorf("kernels of two architectures lie at %s", a)
	}
}

// Headers of another architecture are used with this machine's programs.
func TestToolsAreLent(t *testing.T) {
	from := t.TempDir()
	to := filepath.Join(t.TempDir(), "usr")
	if err := os.MkdirAll(filepath.Join(from, "lib/linux-kbuild-6.1/scripts"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := lendTools(from, to); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(to, "lib/linux-kbuild-6.1/scripts")); err != nil {
		t.Error(err)
	}
}
