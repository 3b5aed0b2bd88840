package vm

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"airtide/test/testmodule"
)

func TestAnArchiveIsRead(t *testing.T) {
	reader := []string{"cpio"}
	if _, err := exec.LookPath(reader[0]); err != nil {
		reader = []string{"busybox", "cpio"}
		if _, err := exec.LookPath(reader[0]); err != nil {
			t.Skip("neither cpio nor busybox is installed")
		}
	}
	from := filepath.Join(t.TempDir(), "host")
	if err := os.WriteFile(from, []byte("of the host"), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	a := newArchive(&b)
	a.file("/bin/some/program", []byte("abc"))
	a.copy("/etc/host", from)
	a.link("/init", "/bin/some/program")
	a.device("/dev/console", 5, 1)
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), reader[0], append(reader[1:], "-itv")...)
	c.Stdin = &b
	text, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, want := range []string{
		`^drwxr-xr-x .* bin$`, `^drwxr-xr-x .* bin/some$`, `^-rwxr-xr-x .* 3 .* bin/some/program$`,
		`^drwxr-xr-x .* etc$`,
		`^-rwxr-xr-x .* 11 .* etc/host$`, `^lrwxrwxrwx .* init -> /bin/some/program$`, `^crw------- .* dev/console$`,
	} {
		if !regexp.MustCompile("(?m)" + want).Match(text) {
			t.Errorf("nothing like %s in:\n%s", want, text)
		}
	}
}

func TestAnArchiveOfWhatIsNotThere(t *testing.T) {
	a := newArchive(io.Discard)
	a.copy("/file", filepath.Join(t.TempDir(), "none"))
	if err := a.close(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
}

func TestLibrariesOfAProgram(t *testing.T) {
	program, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	all, err := libraries(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(f string) bool { return strings.HasPrefix(filepath.Base(f), "libc.") }) {
		t.Errorf("%s needs %v, without a C library", program, all)
	}
	for _, file := range all {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	if _, err := libraries(t.Context(), "/etc/passwd"); err == nil || !strings.Contains(err.Error(), "/etc/passwd") {
		t.Errorf("of a text: %v", err)
	}
}

// writeModules makes a folder of modules, each of which depends on others as its text says.
func writeModules(t *testing.T, modules map[string]string, builtin string) string {
	t.Helper()
	dir := t.TempDir()
	for name, needs := range modules {
		path := filepath.Join(dir, "kernel", name+".ko")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		testmodule.Write(t, path, "license=GPL", "depends="+needs, "name=some")
	}
	if err := os.WriteFile(filepath.Join(dir, "modules.builtin"), []byte(builtin), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestModulesAreLoadedBehindThoseThatTheyNeed(t *testing.T) {
	m, err := readModules(writeModules(t, map[string]string{
		"net/virtio_net": "net-failover,virtio", "net/net-failover": "failover", "net/failover": "",
		"virtio": "ring", "broken": "none",
	}, "kernel/drivers/virtio/ring.ko\n"))
	if err != nil {
		t.Fatal(err)
	}
	load, err := m.load(t.Context(), "virtio", "virtio_net", "ring")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range load {
		got = append(got, one.name)
	}
	if want := []string{"virtio", "failover", "net_failover", "virtio_net"}; !slices.Equal(got, want) {
		t.Errorf("loaded are %v, want %v", got, want)
	}
	for name, want := range map[string]string{
		"missing": "has no module missing", "broken": "has no module none, which broken needs",
	} {
		if _, err := m.load(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKernelsOfAFolder(t *testing.T) {
	root := filepath.Join(t.TempDir(), "x")
	if _, err := unpacked(root); !errors.Is(err, ErrNoKernel) {
		t.Errorf("none: %v", err)
	}
	write := func(name string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("boot/vmlinuz-6.1.0-1")
	if _, err := unpacked(root); err == nil || !strings.Contains(err.Error(), "no modules") {
		t.Errorf("one without modules: %v", err)
	}
	write("lib/modules/6.1.0-1/modules.builtin")
	if k, err := unpacked(root); err != nil || k.Release != "6.1.0-1" ||
		k.Modules != filepath.Join(root, "lib/modules/6.1.0-1") {
		t.Errorf("%+v, %v", k, err)
	}
	write("boot/vmlinuz-6.1.0-2")
	if _, err := unpacked(root); err == nil || !strings.Contains(err.Error(), "has 2 kernels") {
		t.Errorf("one with two: %v", err)
	}
	root = filepath.Join(t.TempDir(), "x")
	write("usr/share/doc/linux-image-7.2/copyright")
	if _, err := unpacked(root); err == nil || !strings.Contains(err.Error(), "has 0 kernels") {
		t.Errorf("one without: %v", err)
	}
	write("usr/lib/modules/7.2/vmlinuz")
	if k, err := unpacked(root); err != nil || k.Release != "7.2" ||
		k.Modules != filepath.Join(root, "usr/lib/modules/7.2") {
		t.Errorf("as Debian 14 has them: %+v, %v", k, err)
	}
	if _, err := Cached("2.4"); err == nil || !strings.Contains(err.Error(), "one of 5.10, 6.1, 6.12") {
		t.Errorf("an unknown version: %v", err)
	}
}

func TestWhatCannotBeAGuest(t *testing.T) {
	kernel := Kernel{Release: "6.1", Image: "/vmlinuz", Modules: "/modules"}
	for want, c := range map[string]Config{
		"needs a kernel":                {},
		"-1 MB of memory":               {Kernel: kernel, MemoryMB: -1},
		"a TAP and an Ethernet address": {Kernel: kernel, Net: &Net{}},
	} {
		if _, err := Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

func TestFramesAreReadAsWritten(t *testing.T) {
	var b bytes.Buffer
	w := &frameWriter{to: &b}
	for n, body := range []string{"", "text", strings.Repeat("long", 100_000)} {
		if err := w.write(frameStdout, uint32(n), []byte(body)); err != nil {
			t.Fatal(err)
		}
		f, err := readFrame(&b)
		if err != nil || f.kind != frameStdout || f.number != uint32(n) || string(f.body) != body {
			t.Errorf("frame %d is %q %d with %d bytes, %v", n, f.kind, f.number, len(f.body), err)
		}
	}
	for name, text := range map[string]string{"cut off": "o\x00\x00", "too long": "o\x00\x00\x00\x00\xff\xff\xff\xff"} {
		if _, err := readFrame(strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("o\x00\x00\x00\x01\x00\x00\x00\x02ab"))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := readFrame(bytes.NewReader(b))
		if err == nil && len(frame.body) != len(b)-frameHead && len(frame.body) > len(b) {
			t.Errorf("%d bytes became %d", len(b), len(frame.body))
		}
	})
}
