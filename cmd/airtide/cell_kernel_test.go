//go:build kernel

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"airtide/internal/cell"
	"airtide/test/need"
)

const homeCell = `
name: home
terminals:
  phone: {radio: {standard: ac, phy_rate: 433.3 Mbit/s}, congestion: cubic}
  desk: {link: ethernet}
servers: {server: {sysctls: {net.ipv4.tcp_sack: 0}}}
path: {rtt: 20 ms}
`

func TestCellRunGivesTheCommandItsMachines(t *testing.T) {
	need.Root(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := `set -e
		ip netns exec $AIRTIDE_NS_phone ping -c 3 -i 0.1 $AIRTIDE_IP_server
		ip netns exec $AIRTIDE_NS_phone cat /proc/sys/net/ipv4/tcp_congestion_control
		echo sack $(ip netns exec $AIRTIDE_NS_server cat /proc/sys/net/ipv4/tcp_sack)
		` + self + `=airtide ` + exe + ` cell status --once --json --interval 100ms $PPID
		echo $AIRTIDE_NS_phone`
	out := mustRun(t, "cell", "run", cellFile(t, homeCell), "--", "sh", "-c", script)
	if !strings.Contains(out, "3 received") || !strings.Contains(out, "time=2") ||
		!strings.Contains(out, "\ncubic\nsack 0\n") {
		t.Errorf("it printed\n%s", out)
	}
	var seen struct {
		Name   string
		Window struct {
			Terminals []struct {
				Name     string
				Ethernet bool
			}
		}
	}
	var namespace string
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if strings.HasPrefix(line, "{") {
			if err := json.Unmarshal([]byte(line), &seen); err != nil {
				t.Fatal(err)
			}
		}
		namespace = line
	}
	if seen.Name != "home" || len(seen.Window.Terminals) != 2 || !seen.Window.Terminals[1].Ethernet {
		t.Errorf("cell status: got %+v", seen)
	}
	if _, err := os.Stat(filepath.Join("/run/netns", namespace)); err == nil ||
		!strings.HasPrefix(namespace, "airtide-cell-") {
		t.Errorf("namespace %s is left over: %v", namespace, err)
	}
}

// startCell starts a cell in the background and returns its namespaces.
func startCell(t *testing.T) (*exec.Cmd, []string) {
	t.Helper()
	cmd := airtide("cell", "run", cellFile(t, homeCell), "--json")
	hosts := awaitCell(t, cmd)
	if len(hosts) != 3 {
		t.Errorf("cell run prints %v", hosts)
	}
	var namespaces []string
	for _, h := range hosts {
		namespaces = append(namespaces, filepath.Join("/run/netns", h.Namespace))
	}
	return cmd, namespaces
}

// awaitCell starts cell run with --json and returns its hosts once they are ready.
func awaitCell(t *testing.T, cmd *exec.Cmd) []cell.Host {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready cellReady
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatal(err)
	}
	if ready.PID != cmd.Process.Pid {
		t.Errorf("cell run prints %s", line)
	}
	return ready.Hosts
}

func TestCellEndsWhatItsCommandLeft(t *testing.T) {
	need.Root(t)
	out := mustRun(t, "cell", "run", cellFile(t, homeCell), "--", "sh", "-c", `
		ip netns exec $AIRTIDE_NS_phone setsid sleep 1000 >/dev/null 2>&1 &
		echo $!
		ip netns exec $AIRTIDE_NS_server setsid sh -c "trap : TERM; while true; do sleep 1000; done" >/dev/null 2>&1 &
		echo $!; sleep 0.2`)
	for _, pid := range strings.Fields(out) {
		cmdline, err := os.ReadFile("/proc/" + pid + "/cmdline")
		if err == nil && strings.Contains(string(cmdline), "sleep\x001000") {
			t.Errorf("process %s still runs: %q", pid, cmdline)
		}
	}
	if len(strings.Fields(out)) != 2 {
		t.Errorf("it printed %q", out)
	}
}

func TestCellEndsWithCtrlC(t *testing.T) {
	need.Root(t)
	cmd, namespaces := startCell(t)
	out := mustRun(t, "__complete", "cell", "status", "")
	if !strings.Contains(out, fmt.Sprintf("%d\n", cmd.Process.Pid)) {
		t.Errorf("cell status does not complete the process %d: %s", cmd.Process.Pid, out)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
	for _, n := range namespaces {
		if _, err := os.Stat(n); err == nil {
			t.Errorf("%s is left over", n)
		}
	}
}

func TestASignalToTheGroupEndsACellInOrder(t *testing.T) {
	need.Root(t)
	// Under nohup the test ignores SIGHUP, and its children would.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		// A shell that gets SIGINT before it waits for its child goes on, and the child, too.
		cmd := airtide("cell", "run", cellFile(t, homeCell), "--", "sh", "-c", "echo ready; exec sleep 1000")
		cmd.WaitDelay = 10 * time.Second
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatalf("the command does not start: %v", err)
		}
		if err := syscall.Kill(-cmd.Process.Pid, s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if strings.Contains(stderr.String(), "engine") {
			t.Errorf("%v to the group: %s", s, stderr.String())
		}
	}
}

func TestCellThatIsKilledLeavesNothing(t *testing.T) {
	need.Root(t)
	cmd, namespaces := startCell(t)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	// The engine gets a signal when its parent dies, and cleans up.
	waitFor(t, "the namespaces to go", func() bool {
		for _, n := range namespaces {
			if _, err := os.Stat(n); err == nil {
				return false
			}
		}
		return true
	})
	socket := fmt.Sprintf("/run/airtide/cell/cell-%d-1.sock", cmd.Process.Pid)
	if _, err := os.Stat(socket); err != nil {
		t.Errorf("a cell that was killed leaves its socket: %v", err)
	}
	run(t, "cell", "status", "--once", "--interval", "10ms") // other cells may run, and this one is forgotten
	if _, err := os.Stat(socket); err == nil {
		t.Errorf("%s is left over", socket)
	}
}

func TestCellMistakesHaveAMessageAndAStatus(t *testing.T) {
	need.Root(t)
	good := cellFile(t, homeCell)
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"cell", "walk"}, statusMisuse, "walk"},
		{[]string{"cell", "run"}, statusMisuse, "FILE"},
		{[]string{"cell", "run", good, "more"}, statusMisuse, "more"},
		{[]string{"cell", "run", good, "--"}, statusMisuse, "--"},
		{[]string{"cell", "run", good, "--duration", "-1s"}, statusMisuse, "--duration"},
		{[]string{"cell", "run", "/no/such/file"}, statusFailed, "/no/such/file"},
		{[]string{"cell", "run", cellFile(t, "terminals: {a: {radio: {standard: "+
			"az}}}")}, statusFailed, "cell.yaml:1:35: terminals.a.radio.standard: found \"az\""},
		{[]string{"cell", "run", good, "--", "false"}, statusFailed, "false ended with exit status 1"},
		{[]string{"cell", "run", good, "--", "sh", "-c", "exit 9"}, 9, "sh ended with exit status 9"},
		{[]string{"cell", "run", good, "--", "/no/such/program"}, statusFailed, "/no/such/program"},
		{[]string{"cell", "status", "some"}, statusMisuse, "some"},
		{[]string{"cell", "status", "1", "2"}, statusMisuse, `"2"`},
		{[]string{"cell", "status", "--interval", "0s"}, statusMisuse, "--interval"},
		{[]string{"cell", "status", "1"}, statusFailed, "process 1 runs no cell"},
	} {
		_, stderr, status := run(t, c.args...)
		if status != c.status || !strings.Contains(stderr, c.says) {
			t.Errorf("airtide %s: exit status %d, %s; want %d and %s", strings.Join(c.args, " "), status, stderr,
				c.status, c.says)
		}
	}
}
