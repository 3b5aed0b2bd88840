package timewarp

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Folder holds built modules, in one folder for each kernel release.
const Folder = "/var/lib/airtide/timewarp"

// Release is the release of the running kernel, as uname -r prints it.
func Release() string {
	var u unix.Utsname
	_ = unix.Uname(&u) // cannot fail: the address is valid
	return unix.ByteSliceToString(u.Release[:])
}

// FindModule returns the path of the module for a kernel release: first the one built by airtide,
// then the one built by DKMS. A module built from other sources than those of this binary is
// skipped.
func FindModule(release string) (string, error) { return findModule("/", release) }

// findModule is FindModule in the file system below a folder.
func findModule(root, release string) (string, error) {
	places := []string{filepath.Join(root, Folder, release, "timewarp.ko")}
	for _, suffix := range []string{"", ".xz", ".zst"} {
		places = append(places, filepath.Join(root, "lib/modules", release, "updates/dkms/timewarp.ko"+suffix))
	}
	var unfit error
	for _, path := range places {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if compressed(path) { // only the kernel decompresses it
			return path, nil
		}
		err := checkSources(path)
		if err == nil {
			return path, nil
		}
		unfit = cmp.Or(unfit, err)
	}
	if unfit != nil {
		return "", unfit
	}
	return "", fmt.Errorf(
		"there is no module for kernel %s at %s: build it with airtide timewarp build, or name one with --module",
		release, places[0],
	)
}

func compressed(path string) bool { return !strings.HasSuffix(path, ".ko") }

// ModuleRelease is the release of the kernel for which a module (not compressed) was built.
func ModuleRelease(path string) (string, error) {
	magic, err := moduleFact(path, "vermagic")
	if err != nil {
		return "", err
	}
	if magic == "" {
		return "", fmt.Errorf("%s does not say for which kernel it was built", path)
	}
	release, _, _ := strings.Cut(magic, " ")
	return release, nil
}

// moduleFact returns the value of a modinfo key of an uncompressed module, or "".
func moduleFact(path, key string) (string, error) {
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
		if fact, ok := bytes.CutPrefix(line, []byte(key+"=")); ok {
			return string(fact), nil
		}
	}
	return "", nil
}
