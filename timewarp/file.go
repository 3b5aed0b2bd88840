package timewarp

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Folder is where built modules lie, in a folder for each kernel release.
const Folder = "/var/lib/airtide/timewarp"

// Release is the release of the running kernel, as uname -r prints it.
func Release() string {
	var u unix.Utsname
	_ = unix.Uname(&u) // cannot fail: the address is valid
	return unix.ByteSliceToString(u.Release[:])
}

// FindModule finds the module for a kernel release: the one that airtide built, else DKMS's.
func FindModule(release string) (string, error) { return findModule("/", release) }

// findModule is FindModule in the file system below a folder.
func findModule(root, release string) (string, error) {
	places := []string{filepath.Join(root, Folder, release, "timewarp.ko")}
	for _, suffix := range []string{"", ".xz", ".zst"} {
		places = append(places, filepath.Join(root, "lib/modules", release, "updates/dkms/timewarp.ko"+suffix))
	}
	for _, path := range places {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no module for kernel %s at %s: build it with airtide timewarp build, or name one with --module", release, places[0])
}

func compressed(path string) bool { return !strings.HasSuffix(path, ".ko") }

// ModuleRelease is the release of the kernel for which a module (not compressed) was built.
func ModuleRelease(path string) (string, error) {
	f, err := elf.Open(path)
	if err != nil {
		var format *elf.FormatError
		if errors.As(err, &format) {
			return "", fmt.Errorf("%s is no kernel module: %w", path, err)
		}
		return "", fmt.Errorf("opening the module: %w", err)
	}
	defer f.Close()
	section := f.Section(".modinfo")
	if section == nil {
		return "", fmt.Errorf("%s is no kernel module: it has no section .modinfo", path)
	}
	info, err := section.Data()
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	for line := range bytes.SplitSeq(info, []byte{0}) {
		if magic, ok := bytes.CutPrefix(line, []byte("vermagic=")); ok {
			release, _, _ := strings.Cut(string(magic), " ")
			return release, nil
		}
	}
	return "", fmt.Errorf("%s does not say for which kernel it was built", path)
}
