package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// output writes a text and leaves the rest to the caller.
func output(t *testing.T, path string, overwrite bool) *Output {
	t.Helper()
	o, err := Create(path, overwrite)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAnOutputIsItsOwnersAloneWhateverTheUmask(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	for _, mask := range []int{0, 0o022, 0o777} {
		unix.Umask(mask)
		path := filepath.Join(t.TempDir(), "out")
		if err := output(t, path, false).Commit(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("with umask %04o the mode is %v, %v", mask, info.Mode(), err)
		}
	}
}

func TestAnExistingFileIsReplacedOnlyIfThatIsAsked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	first := output(t, path, false)
	second := output(t, path, false)
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	var exists *ExistsError
	if err := second.Commit(); !errors.As(err, &exists) || !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that has appeared gives %v", err)
	}
	if _, err := Create(path, false); !errors.As(err, &exists) || exists.Path != path {
		t.Errorf("an existing file gives %v", err)
	}
	if err := output(t, path, true).Commit(); err != nil {
		t.Error(err)
	}
	if all := names(t, filepath.Dir(path)); len(all) != 1 {
		t.Errorf("the folder has %v", all)
	}
}

func TestADiscardedOutputLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	output(t, path, true).Discard()
	if text := read(t, path); text != "old" {
		t.Errorf("the file has %q", text)
	}
	if all := names(t, filepath.Dir(path)); len(all) != 1 {
		t.Errorf("the folder has %v", all)
	}
}

// A file that belongs to another user, and a link to one, are replaced and not written to.
func TestAnOutputIsNeverWrittenIntoAnotherFile(t *testing.T) {
	for _, kind := range []string{"symbolic link", "link", "open file"} {
		dir := t.TempDir()
		victim := filepath.Join(dir, "victim")
		path := filepath.Join(dir, "out")
		if err := os.WriteFile(victim, []byte("precious"), 0o666); err != nil {
			t.Fatal(err)
		}
		plant := map[string]func(string, string) error{
			"symbolic link": os.Symlink, "link": os.Link, "open file": os.Rename,
		}[kind]
		open, err := os.Open(victim)
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		if err := plant(victim, path); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(path, false); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a planted %s gives %v", kind, err)
		}
		o := output(t, path, true)
		if err := o.Publish(); err != nil { // a recording is published before it is whole
			t.Fatal(err)
		}
		if _, err := o.Write([]byte(", newer")); err != nil {
			t.Fatal(err)
		}
		if err := o.Commit(); err != nil {
			t.Fatal(err)
		}
		if text := read(t, path); text != "new, newer" {
			t.Errorf("%s: the output has %q", kind, text)
		}
		if text, err := io.ReadAll(open); err != nil || string(text) != "precious" {
			t.Errorf("%s: the victim has %q, %v", kind, text, err)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: the output has mode %v, %v", kind, info.Mode(), err)
		}
	}
}

func TestStreamsAreWrittenInPlace(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(fifo, true); !errors.Is(err, unix.ENXIO) {
		t.Errorf("a pipe without a reader gives %v", err)
	}
	reader, err := os.OpenFile(fifo, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := output(t, fifo, false).Commit(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(reader); err != nil || string(text) != "new" {
		t.Errorf("the pipe has %q, %v", text, err)
	}
	full, err := Create("/dev/full", true)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Discard()
	if _, err := full.Write([]byte("x")); err == nil || err.Error() != "writing /dev/full: no space left on device" {
		t.Errorf("a full disk gives %v", err)
	}
}

// A link of the kernel to an open descriptor is followed, another link to a device is not.
func TestADescriptorIsAStreamAndAPlantedLinkToADeviceIsNone(t *testing.T) {
	target, err := os.Create(filepath.Join(t.TempDir(), "target"))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	o := output(t, fmt.Sprintf("/proc/self/fd/%d", target.Fd()), false)
	if err := o.Commit(); err != nil || !o.Stream() {
		t.Errorf("%v, a stream: %t", err, o.Stream())
	}
	if text := read(t, target.Name()); text != "new" {
		t.Errorf("the descriptor's file has %q", text)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/dev/null", link); err != nil {
		t.Fatal(err)
	}
	o = output(t, link, true)
	if err := o.Commit(); err != nil || o.Stream() {
		t.Errorf("%v, a stream: %t", err, o.Stream())
	}
	if text := read(t, link); text != "new" {
		t.Errorf("the link became %q", text)
	}
}

func TestErrorsOfAnOutputNameItsPathOnce(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir:                          dir + ": is a directory",
		filepath.Join(dir, "no/out"): filepath.Join(dir, "no/out") + ": no such file or directory",
	} {
		if _, err := Create(path, true); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// killedOutput names the path of an output that a child of this test writes until it is killed.
const killedOutput = "AIRTIDE_TEST_KILLED_OUTPUT"

// TestAKilledProcessLeavesNothing runs this test in a child, which kills itself in the middle.
func TestAKilledProcessLeavesNothing(t *testing.T) {
	if path := os.Getenv(killedOutput); path != "" {
		output(t, path, true)
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	dir := t.TempDir()
	if f, err := openUnnamed(dir); err != nil {
		t.Skipf("this file system has no files without names: %v", err)
	} else {
		f.Close()
	}
	path := filepath.Join(dir, "out")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), killedOutput+"="+path)
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() >= 0 {
		t.Fatalf("the child ends with %v", err)
	}
	if all := names(t, dir); len(all) != 1 || read(t, path) != "old" {
		t.Errorf("the folder has %v, the file %q", all, read(t, path))
	}
}

// Without /proc, and on file systems without such files, an output has a temporary name.
func TestAnOutputWithATemporaryName(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "out")
		o, err := create(path, overwrite)
		if err != nil {
			t.Fatal(err)
		}
		if o.unnamed { // as on NFS
			name := filepath.Join(filepath.Dir(path), ".new-test")
			o.path = name
			if err := o.link(); err != nil {
				t.Fatal(err)
			}
			o.path = path
			o.temporary = name
		}
		if _, err := o.Write([]byte("new")); err != nil {
			t.Fatal(err)
		}
		if err := o.Commit(); err != nil {
			t.Fatal(err)
		}
		if all := names(t, filepath.Dir(path)); len(all) != 1 || read(t, path) != "new" {
			t.Errorf("overwrite %v: the folder has %v", overwrite, all)
		}
	}
}
