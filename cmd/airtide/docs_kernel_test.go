//go:build kernel

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/test/testnet"
)

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
		if !s.needsKernel() && !s.isEndless() || done[s.line] {
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
		if s.isEndless() {
			if slices.Contains(args, "hub") {
				_ = os.Remove("cell.key") // of another page
				mustRun(t, "share", "key", "-o", "cell.key")
			}
			runUntilOutput(t, n, s, cmd)
			continue
		}
		var out strings.Builder
		cmd.Stdout = &out
		cmd.Stderr = &out
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

// runUntilOutput runs a command that does not end on its own, and interrupts it when it has written
// something. It must end without a failure.
func runUntilOutput(t *testing.T, n *testnet.Network, s shownCommand, cmd *exec.Cmd) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	file, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd.Stdout = file
	cmd.Stderr = file
	if err := n.Client.Start(cmd); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	testnet.Eventually(t, time.Minute, s.line+" to write something", func() bool {
		info, err := os.Stat(out)
		return err == nil && info.Size() > 0 || len(ended) > 0
	})
	_ = cmd.Process.Signal(os.Interrupt)
	select {
	case err = <-ended:
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		err = errors.New("it does not end after an interrupt")
	}
	if err != nil {
		text, _ := os.ReadFile(out)
		t.Errorf("%s: %q: %v\n%s", s.page, s.line, err, text)
	}
}
