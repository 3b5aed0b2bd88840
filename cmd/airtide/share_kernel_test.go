//go:build kernel

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/test/need"
	"airtide/test/testnet"
)

// startShare starts a verb of share in a host's namespace, and ends it with the test.
func startShare(t *testing.T, h *testnet.Host, args ...string) (cmd *exec.Cmd, stderr func() string) {
	t.Helper()
	cmd = airtide(append([]string{"share"}, args...)...)
	return cmd, startCommand(t, h, cmd)
}

// startCommand starts a command in a host's namespace, and ends it with the test.
func startCommand(t *testing.T, h *testnet.Host, cmd *exec.Cmd) (stderr func() string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd.Stderr = f
	if err := h.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(unix.SIGTERM)
		_ = cmd.Wait()
	})
	return func() string {
		text, _ := os.ReadFile(log)
		return string(text)
	}
}

// limitAsUnit restricts a command to the capabilities of its unit and bars it from gaining others.
func limitAsUnit(t *testing.T, cmd *exec.Cmd, unit string) {
	t.Helper()
	text := unitOfSystemd(t, unit)
	_, after, found := strings.Cut(text, "\nCapabilityBoundingSet=")
	line, _, _ := strings.Cut(after, "\n")
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || !found || !strings.Contains(text, "\nNoNewPrivileges=yes\n") {
		t.Fatalf("%s: %v, capabilities %q", unit, err, line)
	}
	bounds := "-all"
	for _, c := range strings.Fields(line) {
		bounds += ",+" + strings.ToLower(strings.TrimPrefix(c, "CAP_"))
	}
	cmd.Args = append([]string{setpriv, "--no-new-privs", "--bounding-set=" + bounds, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = setpriv
}

type shareStatus struct {
	Agent   string
	NetNS   uint32 `json:"network_namespace"`
	Bounded bool
	Reason  string
	Peers   []struct{ Address string }
}

// statuses asks for the agents of two namespaces; other agents may run on this machine.
func statuses(t *testing.T, n *testnet.Network) map[uint32]shareStatus {
	t.Helper()
	out, _, _ := run(t, "share", "status", "--json")
	all := map[uint32]shareStatus{}
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		var s shareStatus
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		if s.NetNS == n.Client.NetNS || s.NetNS == n.Server.NetNS {
			all[s.NetNS] = s
		}
	}
	return all
}

// guideCommands are the commands of the guide to three machines, by the machine that its comments
// name.
func guideCommands(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/guide/share.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Three machines in ten minutes")
	section, _, _ = strings.Cut(section, "\n## ")
	commands := map[string][]string{}
	for line := range strings.Lines(section) {
		if command, machine, found := strings.Cut(strings.TrimPrefix(line, "$ airtide "), "#"); found {
			machine = strings.TrimSpace(machine)
			commands[machine] = append(commands[machine], strings.TrimSpace(command))
		}
	}
	return commands
}

// The guide's commands make two terminals share by a hub. Each change of an agent's state is a line
// with its reason. The terminals have no radios here, so their standalone rates are told.
func TestThreeMachinesInTenMinutes(t *testing.T) {
	need.Root(t)
	n := testnet.New(t, testnet.Options{})
	commands := guideCommands(t)
	behind := commands["machine behind the access point"]
	first := commands["first terminal"]
	second := commands["second terminal"]
	if len(behind) != 2 || len(first) != 2 || len(second) != 1 {
		t.Fatalf("the guide's commands: %q", commands)
	}
	key := filepath.Join(t.TempDir(), "cell.key")
	args := func(command string) []string {
		command = strings.ReplaceAll(command, "cell.key", key)
		return strings.Fields(strings.ReplaceAll(command, "192.168.1.2", n.Server.V4.String()+":4748"))
	}
	mustRun(t, args(behind[0])...)
	hubSays := startCommand(t, n.Server, airtide(args(behind[1])...))
	told := []string{"--max-rate", "50Mbit"}
	firstSays := startCommand(t, n.Client, airtide(append(args(first[0]), told...)...))
	// The hub has the port on its machine, so the agent there takes another one.
	agent := airtide(append(args(second[0]), append(told, "--port", "4750")...)...)
	secondSays := startCommand(t, n.Server, agent)
	const bounded = "windows are bounded: sharing with 1 other\n"
	testnet.Eventually(t, 2*time.Minute, "both agents and the hub to say so", func() bool {
		return strings.Contains(firstSays(), bounded) && strings.Contains(secondSays(), bounded) &&
			strings.Contains(hubSays(), ": 2 terminals")
	})
	if table := mustRun(t, "share", "status"); !strings.Contains(table, "windows are bounded") {
		t.Errorf("the table of share status:\n%s", table)
	}
	if err := agent.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, time.Minute, "the first agent to say why nothing is bounded", func() bool {
		_, after, _ := strings.Cut(firstSays(), bounded)
		return strings.Contains(after, "windows are not bounded: ")
	})
	last := ""
	for line := range strings.Lines(firstSays()) {
		if strings.Contains(line, "windows are") && line == last {
			t.Errorf("a state twice: %s", line)
		}
		last = line
	}
}

// Two agents meet at a hub only, one of them with the rights of its systemd unit. Their status
// comes by the socket and by Prometheus. Then one agent is killed.
func TestTwoAgentsByAHub(t *testing.T) {
	need.Root(t)
	n := testnet.New(t, testnet.Options{})
	key := filepath.Join(t.TempDir(), "cell.key")
	mustRun(t, "share", "key", "-o", key)
	_, hubSays := startShare(t, n.Server, "hub", "--key", key, "--listen", ":4799")
	peer := n.Server.V4.String() + ":4799"
	limited := airtide("share", "run", "--key", key, "--peer", peer, "--max-rate", "50Mbit", "--metrics",
		n.Client.V4.String()+":9478")
	limitAsUnit(t, limited, "airtide-share.service")
	startCommand(t, n.Client, limited)
	killed, _ := startShare(t, n.Server, "run", "--key", key, "--peer", peer, "--max-rate", "50Mbit")
	testnet.Eventually(t, 2*time.Minute, "both agents to hear the other", func() bool {
		all := statuses(t, n)
		client := all[n.Client.NetNS]
		server := all[n.Server.NetNS]
		return len(client.Peers) == 1 && len(server.Peers) == 1 && client.Peers[0].Address == n.Server.V4.String() &&
			server.Peers[0].Address == n.Client.V4.String() && client.Bounded
	})
	testnet.Eventually(t, 10*time.Second, "the hub to say so",
		func() bool { return strings.Contains(hubSays(), ": 2 terminals") })
	if table := mustRun(t, "share", "status"); !strings.Contains(table, "windows are bounded") ||
		!strings.Contains(table, n.Server.V4.String()) {
		t.Errorf("the table of share status:\n%s", table)
	}
	for _, columns := range terminalWidths {
		args := []string{"share", "status"}
		shown, _ := onTerminal(t, columns, nil, args...)
		wantFitting(t, shown, columns, args)
	}
	out, err := n.Client.Run("curl", "-s", "http://"+n.Client.V4.String()+":9478/metrics")
	if err != nil || !strings.Contains(out, `airtide_share_terminal_standalone_bps{`) ||
		!strings.Contains(out, `terminal="`+n.Server.V4.String()+`"} 5e+07`) {
		t.Errorf("scraped: %v\n%s", err, out)
	}

	sockets := func() int {
		all, _ := filepath.Glob("/run/airtide/share/*.sock")
		return len(all)
	}
	before := sockets()
	began := time.Now()
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	promised(t, began, "no bounds", func() bool {
		all := statuses(t, n)
		_, there := all[n.Server.NetNS]
		return !there && !all[n.Client.NetNS].Bounded && all[n.Client.NetNS].Reason != ""
	})
	if sockets() != before-1 {
		t.Errorf("sockets of agents: got %d of %d", sockets(), before)
	}
}

// promised waits for a condition, which must hold within a second: the longest silence between
// agents. It allows half a second more, and the delays of a busy machine.
func promised(t *testing.T, began time.Time, what string, is func() bool) {
	t.Helper()
	const answer, limit = 150 * time.Millisecond, 1500 * time.Millisecond
	var answers time.Duration // the time by which answers came late, until the last one but one
	pauses, holds := testnet.Lateness(2*time.Minute, 0, func() bool {
		from := time.Now()
		if is() {
			return true
		}
		answers += max(time.Since(from)-answer, 0)
		return false
	})
	if !holds {
		t.Fatalf("waited in vain for %s", what)
	}
	late := pauses + answers
	took := time.Since(began) - late
	t.Logf("%s after %s, the machine's delays of %s left out", what, took.Round(10*time.Millisecond),
		late.Round(10*time.Millisecond))
	if took > limit && !testing.Short() {
		t.Errorf("%s after %s, want %s at most", what, took.Round(10*time.Millisecond), limit)
	}
}
