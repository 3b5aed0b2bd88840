package owner

import (
	"errors"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
)

func TestCgroup2MountIsFoundInMountinfo(t *testing.T) {
	for _, c := range []struct{ name, mountinfo, want string }{
		{
			"unified system", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate",
			"/sys/fs/cgroup",
		},
		{
			"hybrid system",
			"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n40 31 0:37 / /sys/fs/cgroup/systemd rw - " +
				"cgroup cgroup rw,name=systemd\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
			"/sys/fs/cgroup/unified",
		},
		{"several optional fields", "30 23 0:26 / /cg rw shared:4 master:1 propagate_from:2 - cgroup2 none rw", "/cg"},
		{
			"whole tree before a part of it",
			"30 23 0:26 /a /part rw - cgroup2 none rw\n31 23 0:26 / /whole rw - cgroup2 none rw", "/whole",
		},
		{"a space in the path", `30 23 0:26 / /my\040cgroups rw - cgroup2 none rw`, "/my cgroups"},
		{"only version 1", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu", ""},
	} {
		mounts, err := mountinfo.GetMountsFromReader(strings.NewReader(c.mountinfo), mountinfo.FSTypeFilter("cgroup2"))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got, err := wholeTree(mounts); got != c.want || errors.Is(err, ErrNoCgroup2) != (c.want == "") {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
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
