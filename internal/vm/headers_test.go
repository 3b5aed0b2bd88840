package vm

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"airtide/internal/sys/tool"
)

// Stand-ins for the programs of apt. The archive has headers and the build programs. The
// Makefile of the headers includes a file below /usr/src.
const (
	fakeAptCache = `#!/bin/sh
echo linux-headers-6.1.0-1
echo linux-kbuild-6.1
`
	fakeAptGet = `#!/bin/sh
case "$*" in
*download*)
	sleep 0.2 # two processes that do not wait for each other meet here
	for word; do
		case $word in linux-*) touch "$word.deb" ;; esac
	done
	;;
esac
`
	fakeDpkgDeb = `#!/bin/sh
case $2 in
*headers*)
	mkdir -p "$3/usr/src/linux-headers-6.1.0-1"
	echo include /usr/src/linux-headers-6.1.0-1-common/Makefile >"$3/usr/src/linux-headers-6.1.0-1/Makefile"
	;;
*kbuild*) mkdir -p "$3/usr/lib/linux-kbuild-6.1" ;;
esac
`
)

// TestHeadersAreMovedOnceByTwoFetchers fetches the headers for guests of two architectures into an
// empty cache at once. The guest of the other architecture needs the programs among this machine's
// headers too.
func TestHeadersAreMovedOnceByTwoFetchers(t *testing.T) {
	programs := t.TempDir()
	for name, text := range map[string]string{
		"apt-cache": fakeAptCache, "apt-get": fakeAptGet, "dpkg-deb": fakeDpkgDeb,
	} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cacheBefore := cache
	foldersBefore := tool.Folders
	cache = t.TempDir()
	tool.Folders = append([]string{programs}, tool.Folders...)
	defer func() {
		cache = cacheBefore
		tool.Folders = foldersBefore
	}()

	architectures := []string{"amd64", "arm64"}
	for _, architecture := range architectures {
		kernel := filepath.Join(place("bookworm", architecture), "x")
		for _, folder := range []string{"boot", "lib/modules/6.1.0-1"} {
			if err := os.MkdirAll(filepath.Join(kernel, folder), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(kernel, "boot/vmlinuz-6.1.0-1"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var fetchers errgroup.Group
	for range 2 {
		for _, architecture := range architectures {
			fetchers.Go(func() error {
				_, err := FetchHeadersFor(t.Context(), "6.1", architecture)
				return err
			})
		}
	}
	if err := fetchers.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, architecture := range architectures {
		root := filepath.Join(place("bookworm", architecture), "headers")
		makefile, err := os.ReadFile(filepath.Join(root, "usr/src/linux-headers-6.1.0-1/Makefile"))
		if err != nil {
			t.Fatal(err)
		}
		want := "include " + root + "/usr/src/linux-headers-6.1.0-1-common/Makefile\n"
		if !bytes.Equal(makefile, []byte(want)) {
			t.Errorf("%s: the Makefile is %q, want %q", architecture, makefile, want)
		}
		if _, err := os.Stat(filepath.Join(root, "usr/lib/linux-kbuild-6.1")); err != nil {
			t.Errorf("%s: the programs of the headers are missing: %v", architecture, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(cache, "*/*.new"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %s, %v", strings.Join(left, " "), err)
	}
}
