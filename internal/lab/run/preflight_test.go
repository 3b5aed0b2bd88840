package run

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/lab/plan"
)

// preflightVariable makes the test's program look at a machine that lacks what is in it: folders,
// and root.
const preflightVariable = "AIRTIDE_TEST_PREFLIGHT"

// demanding is an experiment that needs every program.
const demanding = `
name: demanding
terminals: {sta: {radio: {standard: n, phy_rate: 72.2 Mbit/s}}}
servers: {server: {}}
flows:
  upload: {from: sta, to: server, protocol: tcp}
  put: {from: sta, to: server, protocol: http_put}
  echo: {from: sta, to: server, protocol: ping}
record: {packets: all}
`

// lackingMachine hides what the machine is to lack, in a mount namespace of this process, and
// prints the preflight.
func lackingMachine(lacks string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	p, err := plan.Read("demanding.yaml", []byte(demanding))
	fail(err)
	fail(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	root := true
	for _, what := range strings.Fields(lacks) {
		if what == "root" {
			root = false
		} else if _, err := os.Stat(what); err == nil {
			fail(unix.Mount("none", what, "tmpfs", 0, ""))
		}
	}
	if !root {
		fail(syscall.Setuid(65534))
	}
	fmt.Println(preflight(p))
	os.Exit(0)
}

func TestPreflightNamesAllThatIsMissingAtOnce(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mounts")
	}
	const sbin = "/usr/sbin /usr/local/sbin" // where programs are looked for besides PATH
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
		path  string
		says  []string
	}{
		{"root", os.Getenv("PATH"), []string{root}},
		{"/dev/net", os.Getenv("PATH"), []string{tun}},
		{sbin, t.TempDir(), programs},
		{"root /dev/net " + sbin, t.TempDir(), append([]string{root, tun}, programs...)},
		{"", os.Getenv("PATH"), nil},
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), preflightVariable+"="+c.lacks+" ", "PATH="+c.path)
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
