//go:build kernel

package bpf

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"airtide/test/testnet"
)

// helper is another process that holds sockets.
type helper struct {
	t      *testing.T
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
}

// startHelper starts the test binary as another process on a host. prepare may be nil.
func startHelper(t *testing.T, host *testnet.Host, name, command string, prepare func(*exec.Cmd)) *helper {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), helperVariable+"="+command, "AIRTIDE_BPF_TEST_NAME="+name)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(cmd)
	}
	if err := host.Start(cmd); err != nil {
		t.Fatalf("starting a helper: %v", err)
	}
	h := &helper{t: t, cmd: cmd, input: input, output: bufio.NewReader(output)}
	t.Cleanup(h.end)
	return h
}

// inodes waits until the helper is ready and returns the inodes of its sockets.
func (h *helper) inodes() (inodes []uint64) {
	h.t.Helper()
	line, err := h.output.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready") {
		h.t.Fatalf("a helper said %q: %v", line, err)
	}
	for _, f := range strings.Fields(line)[1:] {
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			h.t.Fatal(err)
		}
		inodes = append(inodes, n)
	}
	return inodes
}

func (h *helper) pid() uint32 { return uint32(h.cmd.Process.Pid) }

// goOn lets a helper begin that was started with AIRTIDE_BPF_TEST_WAIT.
func (h *helper) goOn() {
	h.t.Helper()
	if _, err := h.input.Write([]byte{1}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *helper) end() {
	_ = h.input.Close()
	if err := h.cmd.Wait(); err != nil && !errors.Is(err, os.ErrProcessDone) && h.cmd.ProcessState == nil {
		h.t.Errorf("a helper: %v", err)
	}
}
