//go:build kernel

package owner

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"airtide/test/need"
)

// makeNetNS makes a namespace of `ip netns` and returns its name and inode.
func makeNetNS(t *testing.T, suffix string) (string, uint32) {
	t.Helper()
	need.Root(t)
	name := fmt.Sprintf("owner-%d-%s", os.Getpid(), suffix)
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		t.Fatalf("ip netns add: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", name).Run() })
	var st syscall.Stat_t
	if err := syscall.Stat(namedNetNS+"/"+name, &st); err != nil {
		t.Fatal(err)
	}
	return name, uint32(st.Ino)
}

// unshare starts a process in a new network namespace and returns its pid and the namespace's
// inode.
func unshare(t *testing.T) (pid int, inode uint32) {
	t.Helper()
	need.Root(t)
	cmd, _ := child(t, "listen", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET})
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Sscanf(link, "net:[%d]", &inode)
	return cmd.Process.Pid, inode
}

func TestParseNetNS(t *testing.T) {
	name, named := makeNetNS(t, "parse")
	pid, ofProcess := unshare(t)
	self, err := SelfNetNS()
	if err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]uint32{
		name:                                named,
		namedNetNS + "/" + name:             named,
		fmt.Sprint("pid:", pid):             ofProcess,
		fmt.Sprintf("/proc/%d/ns/net", pid): ofProcess,
		"/proc/self/ns/net":                 self,
		strconv.Itoa(int(self)):             self,
		"4026531840":                        4026531840,
	} {
		if got, err := ParseNetNS(arg); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", arg, got, err, want)
		}
	}
}

func TestParseNetNSPrefersANameToANumber(t *testing.T) {
	need.Root(t)
	name := "4026999999"
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		t.Fatalf("ip netns add: %v: %s", err, out)
	}
	defer func() { _ = exec.Command("ip", "netns", "delete", name).Run() }()
	if got, err := ParseNetNS(name); err != nil || got == 4026999999 || got == 0 {
		t.Errorf("got %d, %v, want the inode of the namespace with this name", got, err)
	}
}

func TestListNetNSFindsNamedOnesAndThoseOfProcesses(t *testing.T) {
	name, named := makeNetNS(t, "list")
	pid, ofProcess := unshare(t)
	self, err := SelfNetNS()
	if err != nil {
		t.Fatal(err)
	}
	list, unreadable, err := ListNetNS()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d namespaces, %d processes unreadable", len(list), unreadable)
	find := func(inode uint32) NetNS {
		i := slices.IndexFunc(list, func(n NetNS) bool { return n.Inode == inode })
		if i < 0 {
			t.Fatalf("namespace %d is not in %v", inode, list)
		}
		return list[i]
	}
	if ns := find(named); ns.Name != name || ns.PID != 0 {
		t.Errorf("named: %+v", ns)
	}
	if ns := find(ofProcess); ns.Name != "" || ns.PID != uint32(pid) {
		t.Errorf("of a process: %+v", ns)
	}
	find(self)
	seen := map[uint32]bool{}
	for _, ns := range list {
		if seen[ns.Inode] {
			t.Errorf("%v is listed twice", ns)
		}
		seen[ns.Inode] = true
		if got, err := NetNSOfFile(ns.Path); err != nil || got != ns.Inode {
			t.Errorf("%+v: its path opens %d, %v", ns, got, err)
		}
	}
}
