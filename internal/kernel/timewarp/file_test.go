package timewarp

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/test/testmodule"
)

// DKMS's module is found as the kernel's own are, compressed or not; the one that airtide has built
// comes first.
func TestTheModuleIsFoundWhereItWasPut(t *testing.T) {
	const release = "6.12.0-test"
	root := t.TempDir()
	dkms := filepath.Join(root, "lib/modules", release, "updates/dkms/timewarp.ko")
	if path, err := findModule(root, release); err == nil || !strings.Contains(err.Error(), "airtide timewarp build") {
		t.Errorf("without one: %s, %v", path, err)
	}
	for _, want := range []string{
		dkms + ".zst", dkms + ".xz", dkms, filepath.Join(root, Folder, release, "timewarp.ko"),
	} {
		if err := os.MkdirAll(filepath.Dir(want), 0o755); err != nil {
			t.Fatal(err)
		}
		writeModule(t, want, release)
		if path, err := findModule(root, release); err != nil || path != want {
			t.Errorf("found is %s, %v, want %s", path, err, want)
		}
		if path, err := findModule(root, "6.12.0-other"); err == nil {
			t.Errorf("another kernel is given %s", path)
		}
	}
}

// One of other sources, or of older ones that have no name for them, is not found, and it is said
// what to do; one of DKMS's that is right is.
func TestAModuleOfOtherSourcesIsNotFound(t *testing.T) {
	const release = "6.12.0-test"
	root := t.TempDir()
	own := filepath.Join(root, Folder, release, "timewarp.ko")
	dkms := filepath.Join(root, "lib/modules", release,
		"updates/dkms/timewarp.ko")
	for _, path := range []string{own, dkms} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, facts := range [][]string{{sourcesKey + "=0123456789abcdef"}, {"version=1"}} {
		testmodule.Write(t, own, append(facts, "vermagic="+release+" SMP ")...)
		if path, err := findModule(root, release); err == nil || !strings.Contains(err.Error(), "other sources") ||
			!strings.Contains(err.Error(), "airtide timewarp build") {
			t.Errorf("%v: %s, %v", facts, path, err)
		}
	}
	writeModule(t, dkms, release)
	if path, err := findModule(root, release); err != nil || path != dkms {
		t.Errorf("beside it DKMS's gives %s, %v", path, err)
	}
}

// Kbuild and this package compute the same.
func TestTheModuleIsToldItsSourcesByItsBuild(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, sources()); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("make", "-s", "-f", "-", "src="+dir)
	c.Stdin = strings.NewReader("include " + filepath.Join(dir, "Kbuild") + "\n$(info $(CFLAGS_module.o))\nall:;\n")
	out, err := c.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	}
	if want := "-DAIRTIDE_SOURCES=" + sourcesHash(); err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("make gives %s, %v, want %s", out, err, want)
	}
}

// A compressed module is the kernel's to decompress, in the format that it knows.
func TestACompressedModule(t *testing.T) {
	f := newFake(t)
	flags := -1
	finit := f.finitModule
	f.finitModule = func(fd int, parameters string, with int) error {
		flags = with
		return finit(fd, parameters, with)
	}
	packed := f.module + ".xz"
	if err := os.Rename(f.module, packed); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ format, want string }{{"", "does not decompress modules"}, {"zstd", "by zstd only"}} {
		if c.format != "" {
			f.write(filepath.Join(f.sys, "module/compression"), c.format+"\n")
		}
		_, err := f.Load(packed)
		if f.Loaded() || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("a kernel with %q gives: %v", c.format, err)
		} else if !strings.Contains(err.Error(), "--module") {
			t.Errorf("a kernel with %q gives no way out: %v", c.format, err)
		}
	}
	f.write(filepath.Join(f.sys, "module/compression"), "xz\n")
	f.refused = unix.EOPNOTSUPP
	if _, err := f.Load(packed); err == nil || !strings.Contains(err.Error(), "nohz=off") {
		t.Errorf("timers that tick periodically give: %v", err)
	}
	f.refused = nil
	if _, err := f.Load(packed); err != nil || flags != unix.MODULE_INIT_COMPRESSED_FILE {
		t.Errorf("the kernel was given the flags %#x, %v", flags, err)
	}
}
