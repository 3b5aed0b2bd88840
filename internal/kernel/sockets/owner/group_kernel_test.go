//go:build kernel

package owner

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"airtide/test/need"
)

func TestGroupHoldsACommandAndGoesAfterIt(t *testing.T) {
	need.Root(t)
	c, err := OpenCgroups()
	if err != nil {
		t.Fatal(err)
	}
	g, err := c.NewGroup("owner-test-group-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(g.path)
	if id, err := c.ID(g.path); err != nil || id != g.ID {
		t.Errorf("its id is %d, and the path's %d, %v", g.ID, id, err)
	}
	command := exec.Command("cat")
	command.SysProcAttr = g.Attributes()
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if inside, err := os.ReadFile(filepath.Join(g.path, "cgroup.procs")); err != nil ||
		strings.TrimSpace(string(inside)) != strconv.Itoa(command.Process.Pid) {
		t.Errorf("it holds %s, %v", inside, err)
	}
	if err := g.Remove("a later test"); err == nil || !strings.Contains(err.Error(), "stays until a later test") {
		t.Errorf("with its command running it is removed: %v", err)
	}
	_ = in.Close()
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := g.Remove("a later test"); err != nil {
		t.Error(err)
	}
}

func TestGroupsOfKilledProcessesAreRemoved(t *testing.T) {
	need.Root(t)
	c, err := OpenCgroups()
	if err != nil {
		t.Fatal(err)
	}
	const prefix = "owner-test-left-"
	g, err := c.NewGroup(prefix)
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(filepath.Dir(g.path), prefix)
	killed := left + strconv.Itoa(1<<30)
	running := left + strconv.Itoa(os.Getppid())
	for _, path := range []string{killed, running} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
	}
	if err := g.Remove(""); err != nil {
		t.Fatal(err)
	}
	g, err = c.NewGroup(prefix)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(killed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed process left is there: %v", err)
	}
	if _, err := os.Stat(running); err != nil {
		t.Errorf("what belongs to a running process: %v", err)
	}
	if err := g.Remove(""); err != nil {
		t.Error(err)
	}
}
