package vm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

// FetchRoot returns a root folder with packages of a kernel's suite and their dependencies, from
// the cache or from Debian's archive. Programs that need newer libraries than this machine's run in
// it by chroot. The cache stores it under name.
func FetchRoot(ctx context.Context, version, name string, packages ...string) (string, error) {
	const architecture = "amd64"
	suite, err := suiteOf(version)
	if err != nil {
		return "", err
	}
	root := filepath.Join(place(suite, architecture), name)
	err = fetch(ctx, suite, architecture, name, func(a *apt) ([]string, error) {
		text, err := a.run(ctx, "apt-get",
			append([]string{"install", "--simulate", "--no-install-recommends"}, packages...)...)
		if err != nil {
			return nil, err
		}
		var all []string
		for _, m := range installed.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		return all, nil
	}, finishRoot)
	if err != nil {
		return "", fmt.Errorf("fetching %v of %s: %w", packages, suite, err)
	}
	return root, nil
}

// installed are the lines of apt-get's simulation.
var installed = regexp.MustCompile(`(?m)^Inst (\S+)`)

// finishRoot does the part of the packages' scripts that compiling needs.
func finishRoot(root string) error {
	links := map[string]string{"usr/bin/awk": "mawk"}
	for _, folder := range []string{"bin", "lib", "lib64", "sbin"} {
		links[folder] = filepath.Join("usr", folder)
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for _, folder := range []string{"proc", "tmp", "dev"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return err
		}
	}
	null := int(unix.Mkdev(1, 3)) // Documentation/admin-guide/devices.txt
	if err := unix.Mknod(filepath.Join(root, "dev/null"), unix.S_IFCHR|0o666, null); err != nil &&
		!errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making its /dev/null: %w", err)
	}
	return nil
}
