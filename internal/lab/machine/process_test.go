package machine

import (
	"bufio"
	"bytes"
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

func temporary(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
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

// daemons detach themselves in the ways that programs have: a fork in the background, a session of
// its own.
const daemons = `sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; echo ready; wait`

func TestNothingOfAKilledProgramIsLeft(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	out := temporary(t)
	p := mustStart(t, n.Client, Command{Path: "/bin/sh", Args: []string{"-c", daemons}, Stdout: out})
	testnet.Eventually(
		t, 5*time.Second, "the daemons to be there",
		func() bool { return len(processesIn(t, n.Client.NetNS)) == 6 },
	)
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
		out, said := temporary(t), &Output{}
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

func TestOutputKeepsTheLastWholeLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.jsonl")
	long := strings.Repeat("x", 1<<17)
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"half", ""},
		{"one\n", "one"},
		{"one\ntwo\nhal", "two"},
		{long + "\n" + long + "\n" + "half", long},
		{long + "\n", long},
		{long, ""},
		{"one\n\n", ""},
	} {
		for _, size := range []int{1, 7, 1 << 20} { // of each write
			o, err := CreateOutput(path)
			if err != nil {
				t.Fatal(err)
			}
			for rest := []byte(c.text); len(rest) > 0; {
				n := min(size, len(rest))
				if _, err := o.Write(rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if line := o.LastLine(); line != c.want {
				t.Errorf("of %d bytes by %d the last line has %d, want %d", len(c.text), size, len(line), len(c.want))
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != c.text {
				t.Errorf("the file has %d bytes of %d: %v", len(text), len(c.text), err)
			}
		}
	}
}

func TestAFullDiskDoesNotFailAProgram(t *testing.T) {
	o, err := CreateOutput("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := o.Write([]byte("a line\n")); n != 7 || err != nil {
		t.Errorf("writing: %d, %v", n, err)
	}
	if line := o.LastLine(); line != "a line" {
		t.Errorf("the last line is %q", line)
	}
	if err := o.Close(); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("closing: %v", err)
	}
}

func TestNothingOfAProgramThatEndsIsLeft(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	p := mustStart(
		t, n.Client, Command{Path: "/bin/sh", Args: []string{"-c", "setsid sleep 1000 & sleep 1000 & exit 0"}},
	)
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	if left := processesIn(t, n.Client.NetNS); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

const childVariable = "AIRTIDE_TEST_STARTS_ON"

// TestMain is also the process that TestNothingIsLeftWhenThisProcessIsKilled kills.
func TestMain(m *testing.M) {
	namespace := os.Getenv(childVariable)
	if namespace == "" {
		os.Exit(m.Run())
	}
	if _, err := NewNamespace("", namespace, netip.Addr{}).Start(
		Command{Path: "/bin/sh", Args: []string{"-c", daemons}, Stdout: os.Stdout},
	); err != nil {
		os.Exit(1)
	}
	select {}
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
	testnet.Eventually(
		t, 5*time.Second, "the daemons to be there",
		func() bool { return len(processesIn(t, n.Client.NetNS)) == 6 },
	)
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

func TestTheTailOfAnOutputIsBounded(t *testing.T) {
	out := temporary(t)
	if _, err := out.Write(bytes.Repeat([]byte("a long line of output\n\n"), 10000)); err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteString("the last one\n"); err != nil {
		t.Fatal(err)
	}
	got := Tail(out.Name())
	if want := strings.Repeat("a long line of output; ", 3) + "the last one"; got != want {
		t.Errorf("tail is %q, want %q", got, want)
	}
	if got := Tail(filepath.Join(t.TempDir(), "nothing")); got != "" {
		t.Errorf("tail of a file that is not there is %q", got)
	}
}

func TestAToolThatIsMissingNamesItsPackage(t *testing.T) {
	_, err := Tool{[]string{"airtide-no-such-tool"}, "some-package", ""}.Path()
	if err == nil || !strings.Contains(err.Error(), "apt-get install some-package") {
		t.Errorf("error is %v", err)
	}
}

func TestVersionsNameEachTool(t *testing.T) {
	versions, err := Versions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, begins := range map[string]string{
		"iperf3": "iperf 3.", "curl": "curl ", "ping": "ping from iputils", "httpd": "Server version: Apache/2",
		"tcpdump": "tcpdump version ", "kernel": "",
	} {
		if v := versions[name]; v == "" || !strings.HasPrefix(v, begins) {
			t.Errorf("version of %s is %q", name, v)
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

func TestKernelLogRecordsAreTakenApart(t *testing.T) {
	for record, want := range map[string]string{
		"6,339,5140900,-;NET: Registered PF_ALG\n SUBSYSTEM=net\n": "[    5.140900] NET: Registered PF_ALG",
		"4,1,99,-,caller=T1;a;b\n":                                 "[    0.000099] a;b",
		"nonsense":                                                 "",
		"1,2;x":                                                    "",
		"1,2,x,-;":                                                 "",
	} {
		if got, _ := kmsgLine(record); got != want {
			t.Errorf("%q became %q, want %q", record, got, want)
		}
	}
}
