package vm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
)

// FetchHeaders returns the folder of the headers that build modules for a kernel. It comes from the
// cache or from Debian's archive.
func FetchHeaders(ctx context.Context, version string) (string, error) {
	return FetchHeadersFor(ctx, version, runtime.GOARCH)
}

// FetchHeadersFor is FetchHeaders for an architecture in Go's spelling. Headers of another
// architecture are for a cross compiler: their programs are for this machine.
func FetchHeadersFor(ctx context.Context, version, architecture string) (string, error) {
	k, err := FetchFor(ctx, version, architecture)
	if err != nil {
		return "", err
	}
	suite, err := suiteOf(version)
	if err != nil {
		return "", err
	}
	folder := place(suite, architecture)
	root := filepath.Join(folder, "headers")
	headers := filepath.Join(root, "usr/src/linux-headers-"+k.Release)
	if _, err := os.Stat(headers); err == nil {
		return headers, nil
	}
	wanted := regexp.MustCompile(`(?m)^linux-(headers-[0-9]|kbuild-)\S*`)
	own := ""
	if architecture != runtime.GOARCH {
		own, err = FetchHeaders(ctx, version)
		if err != nil {
			return "", err
		}
		wanted = regexp.MustCompile(`(?m)^linux-headers-[0-9]\S*`)
	}
	err = fetch(ctx, suite, architecture, "headers", func(a *apt) ([]string, error) {
		text, err := a.run(ctx, "apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests",
			"--no-conflicts", "--no-breaks", "--no-replaces", "linux-headers-"+k.Release)
		if err != nil {
			return nil, fmt.Errorf(
				"there are no headers of kernel %s any more: remove %s, and the newer kernel is fetched: %w",
				k.Release, folder, err)
		}
		return wanted.FindAllString(text, -1), nil
	}, func(unpacked string) error {
		if own != "" {
			if err := lendTools(filepath.Join(own, "../.."), filepath.Join(unpacked, "usr")); err != nil {
				return err
			}
		}
		return moveHeaders(filepath.Join(unpacked, "usr/src/linux-headers-"+k.Release), root)
	})
	if err != nil {
		return "", fmt.Errorf("fetching the headers of kernel %s: %w", k.Release, err)
	}
	return headers, nil
}

// lendTools adds the programs of other headers of the same version to headers. Both folders replace
// /usr.
func lendTools(from, to string) error {
	tools, err := filepath.Glob(filepath.Join(from, "lib/linux-kbuild-*"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(to, "lib"), 0o755); err != nil {
		return err
	}
	for _, folder := range tools {
		if err := os.Symlink(folder, filepath.Join(to, "lib", filepath.Base(folder))); err != nil {
			return err
		}
	}
	return nil
}

// moveHeaders replaces the paths in a folder of headers, which start at /usr/src, by paths below
// the given root.
func moveHeaders(headers, root string) error {
	makefile := filepath.Join(headers, "Makefile")
	text, err := os.ReadFile(makefile)
	if err != nil {
		return err
	}
	moved := bytes.ReplaceAll(text, []byte("/usr/src/"), []byte(root+"/usr/src/"))
	return os.WriteFile(makefile, moved, 0o644)
}
