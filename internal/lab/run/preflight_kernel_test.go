//go:build kernel

package run

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/tool"
	"airtide/test/need"
)

func TestPreflightNamesAllThatIsMissingAtOnce(t *testing.T) {
	need.Root(t)
	tools := strings.Join(tool.Folders, " ")
	programs := []string{
		"iperf3 is not installed: apt-get install iperf3", "curl is not installed: apt-get install curl",
		"apache2 or httpd is not installed: apt-get install apache2-bin",
		"ping is not installed: apt-get install iputils-ping",
		"tcpdump is not installed: apt-get install tcpdump",
	}
	const root = "network namespaces need root: run it with sudo"
	const tun = "/dev/net/tun: no such file or directory: " +
		"the servers of an experiment need TUN (modprobe tun)"
	for _, c := range []struct {
		lacks string
		says  []string
	}{
		{"root", []string{root}},
		{"/dev/net", []string{tun}},
		{tools, programs},
		{"root /dev/net " + tools, append([]string{root, tun}, programs...)},
		{"", nil},
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), preflightVariable+"="+c.lacks+" ")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		said := strings.TrimSpace(string(out))
		for _, want := range c.says {
			if !strings.Contains(said, want) {
				t.Errorf("without %q it does not say %q:\n%s", c.lacks, want, said)
			}
		}
		if lines := strings.Count(said, "\n") + 1; lines != max(1, len(c.says)) ||
			(said == "<nil>") != (len(c.says) == 0) {
			t.Errorf("without %q it says %d things, want %d:\n%s", c.lacks, lines, len(c.says), said)
		}
	}
}
