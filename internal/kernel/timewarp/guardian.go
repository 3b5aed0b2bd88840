package timewarp

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// guardian is a process that takes everything back when the one of Run has ended without doing so,
// however it ended: it is told by the end of its standard input, which the kernel closes. It has a
// session of its own, so that what ends the processes of a terminal does not end it.
type guardian struct {
	process *exec.Cmd
	input   *os.File
}

// dismissal is what a guardian is told when all has been taken back.
const dismissal = "done"

// startGuardian starts this program anew with arguments that make it call Guard.
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
	g.process.Stdin, g.process.Stderr = theirs, os.Stderr
	g.process.Dir = "/" // which it keeps nobody from unmounting
	g.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := g.process.Start(); err != nil {
		ours.Close()
		return fail(err)
	}
	return g, nil
}

// dismiss ends it. One that has been killed before is not missed any more.
func (g *guardian) dismiss() {
	_, _ = g.input.WriteString(dismissal)
	g.input.Close()
	_ = g.process.Wait()
}

// Guard waits for the end of a Run that has started this process with this as its standard input,
// and takes back what it has left. It gives nil where there is nothing to take back, since Run has
// done it, or another process has meanwhile.
func (k *Kernel) Guard(run io.Reader) (*Undone, error) {
	said, err := io.ReadAll(run)
	if err != nil {
		return nil, fmt.Errorf("waiting for the end of a command in warped time: %w", err)
	}
	if string(said) == dismissal {
		return nil, nil
	}
	lock, err := k.awaitLock()
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	return k.undoLeft()
}
