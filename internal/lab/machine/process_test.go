package machine

import (
	"bufio"
	"bytes"
	"errors"
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

// inside lists the processes in a network namespace.
func inside(t *testing.T, inode uint32) []string {
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

func mustStart(t *testing.T, c Command) *Process {
	t.Helper()
	p, err := Start(c)
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
		p := mustStart(t, Command{
			Namespace: h.Name, Path: "/bin/sh", Dir: "/usr",
			Args: []string{"-c", "readlink /proc/self/ns/net; pwd; echo $http_proxy$LC_ALL; exit 3"}, Stdout: out, Stderr: out,
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

// daemons detach themselves in the ways that programs have: a fork in the background, a session of its own.
const daemons = `sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; echo ready; wait`

func TestNothingOfAKilledProgramIsLeft(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	out := temporary(t)
	p := mustStart(t, Command{Namespace: n.Client.Name, Path: "/bin/sh", Args: []string{"-c", daemons}, Stdout: out})
	testnet.Eventually(t, 5*time.Second, "the daemons to be there", func() bool { return len(inside(t, n.Client.NetNS)) == 6 })
	p.Kill()
	if left := inside(t, n.Client.NetNS); len(left) > 0 {
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
	if found := inside(t, n.Client.NetNS); len(found) > 0 {
		t.Errorf("in the namespace: %v", found)
	}
}

func TestNothingOfAProgramThatEndsIsLeft(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	p := mustStart(t, Command{Namespace: n.Client.Name, Path: "/bin/sh", Args: []string{"-c", "setsid sleep 1000 & sleep 1000 & exit 0"}})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	if left := inside(t, n.Client.NetNS); len(left) > 0 {
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
	if _, err := Start(Command{Namespace: namespace, Path: "/bin/sh", Args: []string{"-c", daemons}, Stdout: os.Stdout}); err != nil {
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
	testnet.Eventually(t, 5*time.Second, "the daemons to be there", func() bool { return len(inside(t, n.Client.NetNS)) == 6 })
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	testnet.Eventually(t, 5*time.Second, "everything to be gone", func() bool { return len(inside(t, n.Client.NetNS)) == 0 })
}

func TestAProgramThatCannotStartIsNamed(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	for _, c := range []Command{{Namespace: n.Client.Name, Path: "/no/such/program"}, {Namespace: "airtide-not-there", Path: "/bin/true"}} {
		if _, err := Start(c); err == nil || !strings.Contains(err.Error(), c.Path) || !strings.Contains(err.Error(), c.Namespace) {
			t.Errorf("starting %+v: %v", c, err)
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
		"iperf3": "iperf 3.", "curl": "curl ", "ping": "ping from iputils", "httpd": "Server version: Apache/2", "tcpdump": "tcpdump version ", "kernel": "",
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
		if strings.Count(text, "airtide test: ") != 1 || !strings.HasSuffix(text, "airtide test: "+line) && !strings.Contains(text, "airtide test: "+line+"\n") {
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
