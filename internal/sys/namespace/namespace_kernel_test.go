//go:build kernel

package namespace

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/sys/mountinfo"

	"airtide/internal/sys/lock"
	"airtide/test/need"
)

// freshVariable says that this process has a mount namespace with an empty /run.
const freshVariable = "AIRTIDE_TEST_FRESH_RUN"

// inFreshRun runs the calling test once more, in a mount namespace with an empty /run, and reports
// whether this is that run.
func inFreshRun(t *testing.T) bool {
	t.Helper()
	need.Root(t)
	if os.Getenv(freshVariable) != "" {
		return true
	}
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c",
		`mount -t tmpfs none /run && exec "$0" -test.run "^$1\$" -test.count 1`, os.Args[0], t.Name())
	cmd.Env = append(os.Environ(), freshVariable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return false
}

// TestNamespacesAreRemovedAfterALaterIPNetNSAdd makes a namespace before the first `ip netns add`,
// which mounts a folder that is no shared mount over itself.
func TestNamespacesAreRemovedAfterALaterIPNetNSAdd(t *testing.T) {
	if !inFreshRun(t) {
		return
	}
	name := fmt.Sprintf("airtide-test-%d-early", os.Getpid())
	handle, err := Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	if _, err := Create(name); !errors.Is(err, os.ErrExist) {
		t.Errorf("the same name again: %v", err)
	}
	if out, err := exec.Command("ip", "netns", "add", "later").CombinedOutput(); err != nil {
		t.Fatalf("ip netns add: %v: %s", err, out)
	}
	if out, err := exec.Command("ip", "netns", "exec", name, "true").CombinedOutput(); err != nil {
		t.Errorf("ip netns exec: %v: %s", err, out)
	}
	if err := Remove(filepath.Join(Folder, name)); err != nil {
		t.Errorf("removing it: %v", err)
	}
	if out, err := exec.Command("ip", "netns", "delete", "later").CombinedOutput(); err != nil {
		t.Errorf("ip netns delete: %v: %s", err, out)
	}
	if left, err := os.ReadDir(Folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestTheFolderIsMountedOnce(t *testing.T) {
	if !inFreshRun(t) {
		return
	}
	for range 2 {
		if err := share(); err != nil {
			t.Fatal(err)
		}
	}
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return m.Mountpoint != Folder || m.FSType != "tmpfs", false // the fresh /run hides others
	})
	if err != nil || len(mounts) != 1 || !strings.HasPrefix(mounts[0].Optional, "shared:") {
		t.Errorf("mounts: %+v, %v; want one, shared", mounts, err)
	}
}

// Every user may lock the folder. Neither that nor a stopped `ip` keeps namespaces from being made.
func TestALockOfAnotherUserDoesNotStopCreate(t *testing.T) {
	if !inFreshRun(t) {
		return
	}
	if err := os.MkdirAll(Folder, 0o755); err != nil {
		t.Fatal(err)
	}
	holder := exec.Command("flock", Folder, "sh", "-c", "echo locked && exec sleep 600")
	holder.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, Setpgid: true,
	}
	out, err := holder.StdoutPipe()
	if err == nil {
		err = holder.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-holder.Process.Pid, syscall.SIGKILL)
		_ = holder.Wait()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("nobody says %q, %v", line, err)
	}
	name := fmt.Sprintf("airtide-test-%d-locked", os.Getpid())
	handle, err := Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	if !lock.Held(Folder) {
		t.Error("the folder is not locked any more: nothing was tested")
	}
	if err := Remove(filepath.Join(Folder, name)); err != nil {
		t.Error(err)
	}
}
