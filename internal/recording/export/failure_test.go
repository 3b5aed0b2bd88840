package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"airtide/internal/tcp"
)

// leftovers lists everything in a folder, hidden files too.
func leftovers(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestAnExistingFileIsNotReplacedUnlessAsked(t *testing.T) {
	for _, format := range Formats() {
		t.Run(string(format), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out."+string(format))
			if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := New(format, path, testMeta, Options{})
			if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) {
				t.Fatalf("error %v, want one that says that %s exists", err, path)
			}
			if content, _ := os.ReadFile(path); string(content) != "precious" ||
				len(leftovers(t, filepath.Dir(path))) != 1 {
				t.Fatalf("the file holds %q, the folder %v", content, leftovers(t, filepath.Dir(path)))
			}
			exportTo(t, format, path, 100, Options{Overwrite: true})
			if content, _ := os.ReadFile(path); len(content) < 100 || bytes.HasPrefix(content, []byte("precious")) {
				t.Fatalf("overwriting left %q", content)
			}
		})
	}
}

func TestAFileThatAppearsMeanwhileIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	x, err := New(JSONLines, path, testMeta, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("Close: %v, want an error that the file exists", err)
	}
	if content, _ := os.ReadFile(path); string(content) != "precious" || len(leftovers(t, filepath.Dir(path))) != 1 {
		t.Fatalf("the file holds %q, the folder %v", content, leftovers(t, filepath.Dir(path)))
	}
}

func TestSiblingTablesAreNotReplacedEither(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "out.flows.csv"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(CSV, filepath.Join(dir, "out.csv"), testMeta, Options{}); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("error %v, want one that out.flows.csv exists", err)
	}
	if names := leftovers(t, dir); len(names) != 1 {
		t.Fatalf("the folder holds %v", names)
	}
}

func TestNoFileHasItsNameBeforeItIsWhole(t *testing.T) {
	for _, format := range Formats() {
		dir := t.TempDir()
		path := filepath.Join(dir, "out."+string(format))
		x, err := New(format, path, testMeta, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := play(x, 1000); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the file has its name while it is being written", format)
		}
		x.Abort()
		if names := leftovers(t, dir); len(names) != 0 {
			t.Errorf("%s: interrupting left %v", format, names)
		}
		if err := x.Close(); err == nil {
			t.Errorf("%s: Close after Abort says that all is well", format)
		}
	}
}

// fullDiskFolder tells the test binary to be the process of TestAFullDisk.
const fullDiskFolder = "AIRTIDE_TEST_FULL_DISK"

// TestAFullDisk runs this test again in a mount namespace of its own, with a file system of 256
// KiB.
func TestAFullDisk(t *testing.T) {
	if dir := os.Getenv(fullDiskFolder); dir != "" {
		fillDisk(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestAFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), fullDiskFolder+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v (without root this needs unprivileged user namespaces)\n%s", err, out)
	}
}

func fillDisk(t *testing.T, dir string) {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(err)
	}
	for _, format := range Formats() {
		path := filepath.Join(dir, "out."+string(format))
		x, err := New(format, path, testMeta, Options{})
		if err != nil {
			t.Fatal(err)
		}
		playError := play(x, 60_000)
		closeError := x.Close()
		if closeError == nil || playError != nil && playError.Error() != closeError.Error() {
			t.Fatalf("%s: play says %v, Close says %v; want the same error from both", format, playError, closeError)
		}
		for _, part := range []string{path, "no space left on device", "free some space"} {
			if !strings.Contains(closeError.Error(), part) {
				t.Errorf("%s: %q does not say %q", format, closeError, part)
			}
		}
		if names := leftovers(t, dir); len(names) != 0 {
			t.Errorf("%s: left %v on the full disk", format, names)
		}
	}
}

func TestAClosedPipeIsOneClearError(t *testing.T) {
	for _, format := range []Format{CSV, JSONLines, Perfetto} {
		r, w := io.Pipe()
		r.Close()
		x, err := New(format, "-", testMeta, Options{Stdout: w})
		if err != nil {
			t.Fatal(err)
		}
		_ = play(x, 5000)
		if err := x.Close(); err == nil || !strings.Contains(err.Error(), "writing standard output") ||
			!strings.Contains(err.Error(), "has ended") {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func TestAfterAFailureNothingMoreIsTaken(t *testing.T) {
	x, err := New(JSONLines, "/dev/full", testMeta, Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = play(x, 50_000)
	if err == nil {
		t.Fatal("writing to /dev/full went well")
	}
	if again := x.Event(&tcp.Event{}); again == nil || again.Error() != err.Error() {
		t.Errorf("the next call says %v, want %v", again, err)
	}
}

func TestUnusableDestinationsAreRefusedAtOnce(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		format Format
		path   string
		want   string
	}{
		{Parquet, "-", "name a file or a folder"},
		{Parquet, "/dev/full", "name a file or a folder"},
		{Perfetto, dir, "is a directory"},
		{JSONLines, filepath.Join(dir, "nowhere", "x.jsonl"), "create the folder first"},
		{CSV, filepath.Join(dir, "nowhere") + "/deeper/", "create the folder first"},
		{Format("xml"), "x", "want one of parquet, csv, jsonl, perfetto"},
	} {
		if _, err := New(c.format, c.path, testMeta, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s to %s: %v, want an error with %q", c.format, c.path, err, c.want)
		}
	}
	if names := leftovers(t, dir); len(names) != 0 {
		t.Errorf("refusals left %v", names)
	}
}

func TestPlantedLinkIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "out.jsonl")
	planted := filepath.Join(dir, fmt.Sprintf(".out.jsonl.%d.partial", os.Getpid()))
	if err := os.Symlink(victim, planted); err != nil {
		t.Fatal(err)
	}
	exportTo(t, JSONLines, path, 10, Options{})
	if content, _ := os.ReadFile(victim); string(content) != "precious" {
		t.Errorf("the victim of a planted link holds %q", content)
	}
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the export is %v, %v", info, err)
	}
}
