//go:build kernel

package main

import (
	"bufio"
	"encoding/json"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/tune"
	"airtide/test/need"
	"airtide/test/testnet"
)

// mountPoint is a folder for a BPF file system of the test's own.
func mountPoint(t *testing.T) string {
	t.Helper()
	need.Root(t)
	folder := t.TempDir()
	t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
	return folder
}

func lowatOf(t *testing.T, c *net.TCPConn) int {
	t.Helper()
	return testnet.Option(t, c, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT)
}

type tunes struct {
	Tunes []tune.Report
}

func TestTuneIsKeptShownAndUndone(t *testing.T) {
	folder := mountPoint(t)
	n := testnet.New(t, testnet.Options{})
	conn, _ := n.Connect(testnet.Dial{})
	before := lowatOf(t, conn)
	netns := strconv.FormatUint(uint64(n.Client.NetNS), 10)
	out := mustRun(t, "tune", "--netns", netns, "--notsent-lowat", "16k", "--cwnd-max", "50", "--keep", "--bpffs",
		folder)
	for _, want := range []string{"1 socket matched", "1 changed", "overwrites ssthresh", "airtide tune undo"} {
		if !strings.Contains(out, want) {
			t.Errorf("tune prints no %q:\n%s", want, out)
		}
	}
	if got := lowatOf(t, conn); got != 16<<10 {
		t.Errorf("TCP_NOTSENT_LOWAT: got %d, want %d", got, 16<<10)
	}
	var shown tunes
	if err := json.Unmarshal([]byte(mustRun(t, "tune", "show", "--json", "--bpffs", folder)), &shown); err != nil ||
		len(shown.Tunes) != 1 {
		t.Fatalf("shown are %+v, %v, want one tune", shown, err)
	}
	r := shown.Tunes[0]
	if r.Counts.Changed != 1 || !r.Keep || r.Settings.CwndMaxPackets != 50 || len(r.Sockets) != 1 ||
		len(r.Sockets[0].Values) != 2 {
		t.Errorf("shown as %+v, want a kept tune of one changed socket", r)
	}
	if out := mustRun(t, "tune", "show", "--bpffs", folder); !strings.Contains(out, r.ID) ||
		!strings.Contains(out, "kept") {
		t.Errorf("shown without %s or without \"kept\":\n%s", r.ID, out)
	}
	if out := mustRun(t, "__complete", "tune", "undo", "--bpffs", folder, ""); !strings.Contains(out, r.ID) {
		t.Errorf("undo completes to %s, want %s among it", out, r.ID)
	}
	if _, stderr, status := run(t, "tune", "undo", "beef", "--bpffs", folder); status != statusFailed ||
		!strings.Contains(stderr, "no such tune") {
		t.Errorf("undo of an unknown tune: status %d: %s", status, stderr)
	}
	out = mustRun(t, "tune", "undo", "--bpffs", folder)
	if !strings.Contains(out, r.ID+" is undone on 1 open socket\n") {
		t.Errorf("undo prints no line about %s and 1 socket:\n%s", r.ID, out)
	}
	if got := lowatOf(t, conn); got != before {
		t.Errorf("TCP_NOTSENT_LOWAT after undo: got %d, want %d", got, before)
	}
	if out := mustRun(t, "tune", "show", "--bpffs", folder); !strings.Contains(out, "nothing is tuned") {
		t.Errorf("show after undo prints\n%s\nwant that nothing is tuned", out)
	}
}

func TestTuneUntilInterruptedOrKilled(t *testing.T) {
	folder := mountPoint(t)
	n := testnet.New(t, testnet.Options{})
	conn, _ := n.Connect(testnet.Dial{})
	before := lowatOf(t, conn)
	netns := strconv.FormatUint(uint64(n.Client.NetNS), 10)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		cmd := airtide("tune", "--netns", netns, "--notsent-lowat", "9000", "--json", "--bpffs", folder)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(stdout)
		read := func() (line tuneLine) {
			text, err := lines.ReadString('\n')
			if err != nil || json.Unmarshal([]byte(text), &line) != nil || line.Report == nil {
				t.Fatalf("tune prints %q, %v, want a line of JSON", text, err)
			}
			return line
		}
		if line := read(); line.Type != "applied" || line.Counts.Changed != 1 {
			t.Errorf("the first line is %+v, want one changed socket", line)
		}
		if got := lowatOf(t, conn); got != 9000 {
			t.Errorf("TCP_NOTSENT_LOWAT: got %d, want 9000", got)
		}
		_ = cmd.Process.Signal(signal)
		if signal == syscall.SIGINT {
			if line := read(); line.Type != "ended" || line.Undone == nil || line.Undone.Sockets != 1 {
				t.Errorf("the last line is %+v, want one undone socket", line)
			}
		}
		err = cmd.Wait()
		if signal == syscall.SIGINT && err != nil {
			t.Errorf("after SIGINT tune ends with %v, want status 0", err)
		}
		if signal == syscall.SIGKILL {
			if out := mustRun(t, "tune", "show", "--bpffs", folder); !strings.Contains(out, "was killed") {
				t.Errorf("show after SIGKILL prints no \"was killed\":\n%s", out)
			}
			mustRun(t, "tune", "undo", "--bpffs", folder)
		}
		if got := lowatOf(t, conn); got != before {
			t.Errorf("TCP_NOTSENT_LOWAT after %s: got %d, want %d", signal, got, before)
		}
	}
}

func TestTuneOfACommand(t *testing.T) {
	folder := mountPoint(t)
	n := testnet.New(t, testnet.Options{})
	bystander, _ := n.Connect(testnet.Dial{})
	before := lowatOf(t, bystander)
	cmd := airtide(
		append(
			[]string{"tune", "--notsent-lowat", "9000", "--bpffs", folder, "--json", "--"},
			played("transfer")...)...)
	stdout, stderr, status := runCmd(t, cmd)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	var ended tuneLine
	if status != 0 || len(lines) < 2 || json.Unmarshal([]byte(lines[len(lines)-1]), &ended) != nil {
		t.Fatalf("status %d: %s%s", status, stdout, stderr)
	}
	// The sockets are both ends of the command's connection. They may have closed already.
	if c := ended.Counts; c.Matched != 2 || c.New != 2 || c.Failed+c.GoneFailed != 0 ||
		c.GoneChanged > c.Gone {
		t.Errorf("counted %+v, want 2 new sockets and none failed", c)
	}
	if got := lowatOf(t, bystander); got != before {
		t.Errorf("TCP_NOTSENT_LOWAT of another program: got %d, want %d", got, before)
	}
	if _, _, status := run(
		t, "tune", "--notsent-lowat", "9000", "--bpffs", folder, "-q", "--", "sh", "-c", "exit 5",
	); status != 5 {
		t.Errorf("status of a command that exits with 5: got %d", status)
	}
	killed := []string{"tune", "--notsent-lowat", "9000", "--bpffs", folder, "-q", "--", "sh", "-c", "kill -TERM $$"}
	if _, _, status := run(t, killed...); status != 128+15 {
		t.Errorf("status of a command that SIGTERM kills: got %d, want %d", status, 128+15)
	}
}

// Settings that fail on a socket are named, and the status is 1.
func TestTuneThatFailsOnASocket(t *testing.T) {
	folder := mountPoint(t)
	n := testnet.New(t, testnet.Options{})
	conn, _ := n.Connect(testnet.Dial{CongestionControl: "cubic"})
	netns := strconv.FormatUint(uint64(n.Client.NetNS), 10)
	out, stderr, status := run(t, "tune", "--netns", netns, "--cwnd-min", "4", "--keep", "--bpffs", folder)
	if status != statusFailed || !strings.Contains(out, conn.LocalAddr().String()) ||
		!strings.Contains(out, "cubic_bound") ||
		stderr != "" {
		t.Errorf("status %d: %s%s", status, out, stderr)
	}
	mustRun(t, "tune", "undo", "--bpffs", folder)
}

func TestTuneMisuse(t *testing.T) {
	for _, args := range [][]string{
		{"--cwnd-max", "10"},
		{"--port", "1"},
		{"--port", "70000", "--cwnd-max", "10"},
		{"--port", "1", "--cwnd-max", "1"},
		{"--port", "1", "--cwnd-min", "9", "--cwnd-max", "8"},
		{"--port", "1", "--all", "--cwnd-max", "8"},
		{"--port", "1", "--pacing-rate", "fast"},
		{"--port", "1", "--pacing-rate", "-1M"},
		{"--port", "1", "--send-buffer", "5G"},
		{"--port", "1", "--rto-min", "1us"},
		{"--port", "1", "--rto-max", "1h"},
		{"--port", "1", "--rto-initial", "-1s"},
		{"--port", "1", "--cc", "a/b"},
		{"--port", "1", "--cwnd-max", "8", "--"},
		{"sing"},
		{"show", "more"},
		{"undo", "--running", "abc"},
	} {
		if _, stderr, status := run(t, append([]string{"tune"}, args...)...); status != statusMisuse ||
			!strings.Contains(stderr, "--help") {
			t.Errorf("airtide tune %v: status %d, want %d: %s", args, status, statusMisuse, stderr)
		}
	}
	need.Root(t)
	if _, stderr, status := run(
		t, "tune", "--port", "1", "--cc", "nosuch", "--bpffs", mountPoint(t),
	); status != statusFailed ||
		!strings.Contains(stderr, "this kernel has") {
		t.Errorf("an unknown congestion control: status %d, want %d: %s", status, statusFailed, stderr)
	}
}

func TestTuneWithoutRoot(t *testing.T) {
	need.Root(t)
	for _, args := range [][]string{{"tune", "--port", "1", "--cwnd-max", "8"}, {"tune", "show"}, {"tune", "undo"}} {
		cmd := airtide(args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Dir = "/"
		cmd.Path = "/proc/self/exe"
		if _, stderr, status := runCmd(t, cmd); status != statusFailed || !strings.Contains(stderr, "root") ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v without root: status %d, want %d: %s", args, status, statusFailed, stderr)
		}
	}
}

// Scripts rely on the names in JSON.
func TestTuneJSONNames(t *testing.T) {
	folder := mountPoint(t)
	n := testnet.New(t, testnet.Options{})
	n.Connect(testnet.Dial{CongestionControl: "cubic"})
	netns := strconv.FormatUint(uint64(n.Client.NetNS), 10)
	out := mustRun(t, "tune", "--netns", netns, "--cwnd-max", "50", "--keep", "--json", "--bpffs", folder)
	defer mustRun(t, "tune", "undo", "--bpffs", folder)
	for _, name := range []string{
		"type", "id", "pid", "running", "keep", "begun", "selection", "settings", "cwnd_max_packets", "counts",
		"matched", "new",
		"changed", "failed", "connecting", "gone", "gone_changed", "gone_failed",
		"no_room", "handshakes", "held", "sockets", "cookie", "local",
		"remote", "netns",
		"cgroup", "congestion_control", "cwnd_packets", "ssthresh_packets", "rto_us", "values", "name", "before",
		"want", "now", "ok", "by",
	} {
		if !strings.Contains(out, `"`+name+`":`) {
			t.Errorf("the JSON has no %s:\n%s", name, out)
		}
	}
}
