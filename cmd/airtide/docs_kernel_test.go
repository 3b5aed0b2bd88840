//go:build kernel

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/test/testnet"
)

// needsKernel reports if a shown command ends on its own, needs root, and leaves nothing behind.
// The documentation's servers are 192.0.2.1 and 10.2.0.1; only iperf3 connects to them here.
func (s shownCommand) needsKernel() bool {
	line := strings.Join(s.args, " ")
	behind := slices.Index(s.args, "--")
	iperf := behind > 0 && behind+1 < len(s.args) && s.args[behind+1] == "iperf3"
	switch s.args[0] {
	case "doctor", "cc":
		return true
	case "record":
		return iperf
	case "monitor":
		return line == "monitor --once"
	case "tune":
		return iperf || line == "tune show" || line == "tune undo"
	}
	return false
}

// The shown commands that need the kernel run in the order of their page, against an iperf3 server
// in another namespace.
func TestShownCommandsRunOnThisKernel(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	server := exec.Command("iperf3", "-s")
	if err := n.Server.Start(server); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	testnet.Eventually(t, 5*time.Second, "iperf3 to listen", func() bool {
		out, err := n.Server.Run("ss", "-tlnH", "sport = :5201")
		return err == nil && out != ""
	})
	commands := shownCommands(t)
	t.Chdir(t.TempDir())
	done := map[string]bool{}
	for _, s := range commands {
		if !s.needsKernel() || done[s.line] {
			continue
		}
		done[s.line] = true
		args := slices.Clone(s.args)
		for i, word := range args {
			if word == "192.0.2.1" || word == "10.2.0.1" {
				args[i] = n.Server.V4.String()
			}
		}
		if slices.Contains(args, "iperf3") {
			args = append(args, "-t", "1")
		}
		if args[0] == "record" {
			args = slices.Insert(args, 1, "--force")
		}
		cmd := airtide(args...)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		err := n.Client.Start(cmd)
		if err == nil {
			err = cmd.Wait()
		}
		if err != nil {
			t.Errorf("%s: %q: %v\n%s", s.page, s.line, err, out.String())
		}
	}
	if len(done) < 8 {
		t.Errorf("only %d commands were run", len(done))
	}
}
