//go:build kernel

package machine

import (
	"bufio"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/test/testnet"
)

// processesIn lists the processes in a network namespace.
func processesIn(t *testing.T, inode uint32) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil && target == "net:["+strconv.Itoa(int(inode))+"]" {
			found = append(found, l)
		}
	}
	return found
}

func mustStart(t *testing.T, h *testnet.Host, c Command) *Process {
	t.Helper()
	p, err := of(h).Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestAProgramRunsOnItsMachine(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	for _, h := range []*testnet.Host{n.Client, n.Server, n.Client} {
		out := temporary(t)
		p := mustStart(t, h, Command{
			Path: "/bin/sh", Dir: "/usr",
			Args: []string{"-c", "readlink /proc/self/ns/net; pwd; echo $http_proxy$LC_ALL; exit 3"}, Stdout: out,
			Stderr: out,
		})
		var exit *exec.ExitError
		if err := p.Err(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Errorf("it ended with %v, want status 3", err)
		}
		want := "net:[" + strconv.Itoa(int(h.NetNS)) + "]; /usr; C"
		if got := Tail(out.Name()); got != want {
			t.Errorf("it printed %q, want %q", got, want)
		}
		if p.Ended().Before(p.Started()) {
			t.Errorf("ended at %s, before the start at %s", p.Ended(), p.Started())
		}
	}
}

func TestNothingOfAKilledProgramIsLeft(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	out := temporary(t)
	p := mustStart(t, n.Client, Command{Path: "/bin/sh", Args: []string{"-c", daemons}, Stdout: out})
	testnet.Eventually(t, 5*time.Second, "the daemons to be there",
		func() bool { return len(processesIn(t, n.Client.NetNS)) == 6 })
	p.Kill()
	if left := processesIn(t, n.Client.NetNS); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	p.Signal(unix.SIGTERM) // does no harm
}

func TestTheMainThreadStaysAtHome(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	for range 50 {
		err := In(n.Client.Name, func() error {
			if unix.Gettid() == unix.Getpid() {
				return errors.New("on the main thread")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found := processesIn(t, n.Client.NetNS); len(found) > 0 {
		t.Errorf("in the namespace: %v", found)
	}
}

func TestStopWaitsAndKills(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	for _, c := range []struct {
		name, script string
		want         string // "" is no error
	}{
		{"ends well", "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done", ""},
		{
			"ends badly", "trap 'echo a fault >&2; exit 3' TERM; echo ready; while :; do sleep 0.01; done",
			"exit status 3: a fault",
		},
		{"does not end", "trap '' TERM; echo ready; while :; do sleep 0.01; done", ErrKilled.Error()},
	} {
		out := temporary(t)
		said := &Output{}
		p := mustStart(t, n.Client, Command{Path: "/bin/sh", Args: []string{"-c", c.script}, Stdout: out, Stderr: said})
		testnet.Eventually(
			t, 5*time.Second, "the program to be ready", func() bool { return Tail(out.Name()) == "ready" },
		)
		err := p.Stop(unix.SIGTERM, time.Second)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if left := processesIn(t, n.Client.NetNS); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

func TestNothingOfAProgramThatEndsIsLeft(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	p := mustStart(t, n.Client,
		Command{Path: "/bin/sh", Args: []string{"-c", "setsid sleep 1000 & sleep 1000 & exit 0"}})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	if left := processesIn(t, n.Client.NetNS); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

func TestNothingIsLeftWhenThisProcessIsKilled(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+n.Client.Name)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the child printed %q (%v)", line, err)
	}
	testnet.Eventually(t, 5*time.Second, "the daemons to be there",
		func() bool { return len(processesIn(t, n.Client.NetNS)) == 6 })
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	testnet.Eventually(
		t, 5*time.Second, "everything to be gone", func() bool { return len(processesIn(t, n.Client.NetNS)) == 0 },
	)
}

func TestAProgramThatCannotStartIsNamed(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	for namespace, program := range map[string]string{
		n.Client.Name: "/no/such/program", "airtide-not-there": "/bin/true",
	} {
		_, err := NewNamespace("", namespace, netip.Addr{}).Start(Command{Path: program})
		if err == nil || !strings.Contains(err.Error(), program) || !strings.Contains(err.Error(), namespace) {
			t.Errorf("starting %s on %s: %v", program, namespace, err)
		}
	}
}

func TestTheKernelLogBeginsAtTheMark(t *testing.T) {
	write := func(line string) {
		t.Helper()
		if err := os.WriteFile("/dev/kmsg", []byte("airtide test: "+line+"\n"), 0); err != nil {
			t.Skipf("the kernel's log cannot be written here: %v", err)
		}
	}
	write("before the mark")
	log, err := MarkKernelLog()
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, line := range []string{"first", "second; with a semicolon"} {
		write(line)
		lines, err := log.Lines()
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(lines, "\n")
		if strings.Count(text, "airtide test: ") != 1 || !strings.HasSuffix(text, "airtide test: "+line) &&
			!strings.Contains(text, "airtide test: "+line+"\n") {
			t.Errorf("lines are %q, want %q once", text, line)
		}
	}
}
