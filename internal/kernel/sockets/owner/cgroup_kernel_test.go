//go:build kernel

package owner

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"airtide/test/need"
)

// inner is a name that no other test on this machine gives to a cgroup.
var inner = "inner-" + strconv.Itoa(os.Getpid())

// makeCgroups makes a tree below the real mount: TOP/INNER/leaf and TOP/other/leaf.
func makeCgroups(t *testing.T) (c *Cgroups, top string) {
	t.Helper()
	need.Root(t)
	c, err := OpenCgroups()
	if err != nil {
		t.Fatal(err)
	}
	top = "/owner-test-" + strconv.Itoa(os.Getpid())
	for _, dir := range []string{
		top, top + "/" + inner, top + "/" + inner + "/leaf", top + "/other", top + "/other/leaf",
	} {
		full := filepath.Join(c.Mount(), dir)
		if err := os.Mkdir(full, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(full) })
	}
	return c, top
}

func TestCgroupIsFoundByPathNameAndID(t *testing.T) {
	c, top := makeCgroups(t)
	id, err := c.ID(top + "/" + inner)
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range []string{
		inner, top[1:] + "/" + inner, filepath.Join(c.Mount(), top, inner), strconv.FormatUint(id, 10),
	} {
		if got, err := c.ID(arg); err != nil || got != id {
			t.Errorf("%q: got %d, %v, want %d", arg, got, err, id)
		}
	}
	for arg, want := range map[string]string{
		"leaf":           "2 cgroups have this name",
		"no-such-cgroup": "there is no such cgroup",
		"/no/such/path":  "there is no folder",
		"":               "want a path",
	} {
		if _, err := c.ID(arg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", arg, err, want)
		}
	}
}

func TestCgroupPathAndAncestors(t *testing.T) {
	c, top := makeCgroups(t)
	var ids []uint64
	for _, p := range []string{top + "/" + inner + "/leaf", top + "/" + inner, top, "/"} {
		id, err := c.ID(p)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := c.Path(id); !ok || got != p {
			t.Errorf("path of %d: got %q, %v, want %q", id, got, ok, p)
		}
		ids = append(ids, id)
	}
	if got := c.Ancestors(ids[0]); !slices.Equal(got, ids) {
		t.Errorf("ancestors of the leaf: got %v, want %v", got, ids)
	}
	if got := c.Ancestors(1 << 50); !slices.Equal(got, []uint64{1 << 50}) {
		t.Errorf("ancestors of an unknown cgroup: %v", got)
	}
}

func TestCgroupMadeLaterIsSeenAndRemovedOneKeepsItsName(t *testing.T) {
	c, top := makeCgroups(t)
	late := filepath.Join(c.Mount(), top, "late")
	if err := os.Mkdir(late, 0o755); err != nil {
		t.Fatal(err)
	}
	id, err := (&Cgroups{mount: c.mount}).inode(top + "/late")
	if err != nil {
		t.Fatal(err)
	}
	c.nextWalk = c.nextWalk.Add(-2 * cgroupWalkInterval)
	if p, ok := c.Path(id); !ok || p != top+"/late" {
		t.Errorf("new cgroup: %q, %v", p, ok)
	}
	if err := os.Remove(late); err != nil {
		t.Fatal(err)
	}
	if p, ok := c.Path(id); !ok || p != top+"/late" {
		t.Errorf("removed cgroup: %q, %v", p, ok)
	}
	if _, err := c.ID("late"); err == nil {
		t.Error("a removed cgroup was found by name")
	}
}
