//go:build kernel

package lock

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Another user cannot hold root's lock, and sees that root holds it.
func TestAnotherUserCannotLock(t *testing.T) {
	if path := os.Getenv("LOCK_TEST_PATH"); path != "" {
		if _, err := os.Open(path); !errors.Is(err, os.ErrPermission) {
			t.Errorf("another user may open the lock: %v", err)
		}
		if !Held(path) {
			t.Error("another user does not see the lock")
		}
		return
	}
	if os.Getuid() != 0 {
		t.Fatal("needs root")
	}
	dir, err := os.MkdirTemp("/run", "lock-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "lock")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// The test's own program may lie where the other user cannot reach it, so it runs by a
	// descriptor.
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	c := exec.Command("/proc/self/fd/3", "-test.run", t.Name())
	c.ExtraFiles = []*os.File{self}
	c.Env = append(os.Environ(), "LOCK_TEST_PATH="+path)
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
