package owner

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestCgroup2MountIsFoundInMountinfo(t *testing.T) {
	for _, c := range []struct{ name, mountinfo, want string }{
		{"unified system", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate", "/sys/fs/cgroup"},
		{"hybrid system", "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw", "/sys/fs/cgroup/unified"},
		{"several optional fields", "30 23 0:26 / /cg rw shared:4 master:1 propagate_from:2 - cgroup2 none rw", "/cg"},
		{"whole tree before a part of it", "30 23 0:26 /a /part rw - cgroup2 none rw\n31 23 0:26 / /whole rw - cgroup2 none rw", "/whole"},
		{"a space in the path", `30 23 0:26 / /my\040cgroups rw - cgroup2 none rw`, "/my cgroups"},
		{"only version 1", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu", ""},
	} {
		mounts, err := parseMounts(strings.NewReader(c.mountinfo))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got, ok := cgroup2Mount(mounts); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, ok, c.want)
		}
	}
	if _, err := parseMounts(strings.NewReader("not a mount\n")); err == nil {
		t.Error("a line that is no mount was accepted")
	}
}

// inner is a name that no other test on this machine gives to a cgroup.
var inner = "inner-" + strconv.Itoa(os.Getpid())

// makeCgroups makes a tree below the real mount: TOP/INNER/leaf and TOP/other/leaf.
func makeCgroups(t *testing.T) (c *Cgroups, top string) {
	t.Helper()
	needRoot(t)
	c, err := OpenCgroups()
	if err != nil {
		t.Fatal(err)
	}
	top = "/owner-test-" + strconv.Itoa(os.Getpid())
	for _, dir := range []string{top, top + "/" + inner, top + "/" + inner + "/leaf", top + "/other", top + "/other/leaf"} {
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
	for _, arg := range []string{inner, top[1:] + "/" + inner, filepath.Join(c.Mount(), top, inner), strconv.FormatUint(id, 10)} {
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

func TestSelfCgroup(t *testing.T) {
	c, err := OpenCgroups()
	if err != nil {
		t.Fatal(err)
	}
	id, err := c.SelfCgroup()
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := c.Path(id); !ok || !strings.HasPrefix(p, "/") {
		t.Errorf("own cgroup %d has path %q, %v", id, p, ok)
	}
}
