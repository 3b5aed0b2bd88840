package timewarp

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// guardian is a process that undoes everything after Run's process has ended without doing so. It
// notices the end on its standard input, which the kernel closes. It has its own session, so
// signals to a terminal's processes do not reach it.
type guardian struct {
	process *exec.Cmd
	input   *os.File
}

// dismissMessage is the message to a guardian after a complete undo.
const dismissMessage = "done"

// startGuardian executes this program again with arguments that make it call Guard.
func startGuardian(args []string) (*guardian, error) {
	fail := func(err error) (*guardian, error) {
		return nil, fmt.Errorf("starting who takes time back when this process is killed: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	defer theirs.Close()
	g := &guardian{process: exec.Command(self, args...), input: ours}
	g.process.Stdin = theirs
	g.process.Stderr = os.Stderr
	g.process.Dir = "/" // so it keeps no other mount busy
	g.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := g.process.Start(); err != nil {
		ours.Close()
		return fail(err)
	}
	return g, nil
}

// dismiss ends the guardian. A guardian that was killed is ignored.
func (g *guardian) dismiss() {
	_, _ = g.input.WriteString(dismissMessage)
	g.input.Close()
	_ = g.process.Wait()
}

// Guard waits for the end of the Run that started this process, then undoes its changes. run is the
// standard input that Run passed. Guard returns nil if there is nothing to undo.
func (k *Kernel) Guard(run io.Reader) (*Undone, error) {
	said, err := io.ReadAll(run)
	if err != nil {
		return nil, fmt.Errorf("waiting for the end of a command in warped time: %w", err)
	}
	if string(said) == dismissMessage {
		return nil, nil
	}
	lock, err := k.awaitLock()
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	return k.undoLeft()
}
