package machine

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func temporary(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// daemons detach themselves in the ways that programs have: a fork in the background, a session of
// its own.
const daemons = `sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; echo ready; wait`

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
