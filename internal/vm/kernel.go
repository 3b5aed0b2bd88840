package vm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Folder is the cache of kernels. It can be removed; missing kernels are fetched again.
const Folder = "/var/cache/airtide/kernels"

// cache is Folder, except in tests.
var cache = Folder

// debians are the available kernels with their suites of Debian. Kernel 6.12 comes from the
// backports of bookworm; the tools of Debian 12 build its modules.
var debians = []struct{ version, suite string }{
	{"5.10", "bullseye"},
	{"6.1", "bookworm"},
	{"6.12", "bookworm-backports"},
}

// Newest is the version of Debian's newest kernel. It is not guaranteed to work.
const Newest = "newest"

// newestSuite is the suite of Debian with the newest kernel.
const newestSuite = "sid"

// Versions returns the versions of the available kernels, all of Debian's cloud flavour.
func Versions() []string {
	var all []string
	for _, d := range debians {
		all = append(all, d.version)
	}
	return all
}

func suiteOf(version string) (string, error) {
	for _, d := range debians {
		if d.version == version {
			return d.suite, nil
		}
	}
	if version == Newest {
		return newestSuite, nil
	}
	return "", fmt.Errorf("there is no kernel %q: use one of %s", version, strings.Join(Versions(), ", "))
}

// Kernel is an unpacked kernel.
type Kernel struct {
	Release string // output of uname -r
	Image   string // the file to boot
	Modules string // the folder with its modules
	// Architecture is the architecture in Go's spelling; empty for this machine's architecture.
	Architecture string
}

func (k Kernel) architecture() string {
	if k.Architecture == "" {
		return runtime.GOARCH
	}
	return k.Architecture
}

// ErrNoKernel means that a kernel has not been fetched.
var ErrNoKernel = errors.New("the kernel has not been fetched")

// Cached returns a fetched kernel, or ErrNoKernel.
func Cached(version string) (Kernel, error) { return CachedFor(version, runtime.GOARCH) }

// CachedFor is Cached for an architecture in Go's spelling.
func CachedFor(version, architecture string) (Kernel, error) {
	suite, err := suiteOf(version)
	if err != nil {
		return Kernel{}, err
	}
	if _, known := emulators[architecture]; !known {
		return Kernel{}, fmt.Errorf("virtual machines are not known on %s", architecture)
	}
	k, err := unpacked(filepath.Join(place(suite, architecture), "x"))
	k.Architecture = architecture
	return k, err
}

// place returns the folder of a suite.
func place(suite, architecture string) string {
	if architecture == "amd64" {
		return filepath.Join(cache, suite)
	}
	return filepath.Join(cache, suite+"-"+architecture)
}

// unpacked returns the kernel in the folder of an unpacked package.
func unpacked(root string) (Kernel, error) {
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return Kernel{}, ErrNoKernel
	}
	var found []Kernel
	for _, pattern := range []string{"boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz"} { // the second in Debian 14
		images, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return Kernel{}, err
		}
		for _, image := range images {
			release, named := strings.CutPrefix(filepath.Base(image), "vmlinuz-")
			if !named {
				release = filepath.Base(filepath.Dir(image))
			}
			found = append(found, Kernel{Image: image, Release: release})
		}
	}
	if len(found) != 1 {
		return Kernel{}, fmt.Errorf("%s has %d kernels, expected one: remove the folder, and a kernel is fetched again",
			root, len(found))
	}
	k := found[0]
	// Packages of some suites have /usr/lib in place of /lib.
	for _, lib := range []string{"lib/modules", "usr/lib/modules"} {
		k.Modules = filepath.Join(root, lib, k.Release)
		if _, err := os.Stat(k.Modules); err == nil {
			return k, nil
		}
	}
	return Kernel{}, fmt.Errorf("the kernel at %s has no modules: remove the folder, and it is fetched again", root)
}

// HasModule reports whether a kernel has a feature as a module, not built in.
func (k Kernel) HasModule(name string) bool {
	m, err := readModules(k.Modules)
	if err != nil {
		return false // booting reports the error in them
	}
	_, has := m.files[name]
	return has
}
