package machine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/thread"
	"airtide/internal/sys/tool"
)

// Command is a program to run on a machine. It has no input, no shell, and a short environment.
type Command struct {
	Path string
	Args []string
	Dir  string
	// Stdout and Stderr receive the output; nil discards it. The program itself gets an *os.File,
	// and both may be the same file. An *Output also remembers the last line.
	Stdout, Stderr io.Writer
	// Cgroup is the folder of the program's cgroup, if it is not nil.
	Cgroup *os.File
}

// Process is a running or ended program.
type Process struct {
	send    func(signal)
	stderr  *Output // nil without a record of its lines
	started time.Time
	done    chan struct{}
	ended   time.Time
	err     error
}

type signal = syscall.Signal

func newProcess(c Command, send func(signal)) *Process {
	p := &Process{send: send, started: time.Now(), done: make(chan struct{})}
	p.stderr, _ = c.Stderr.(*Output)
	return p
}

// starts are executed one after another by a thread that lives as long as this process. The kernel
// sends the signal of a parent's death when the parent's thread ends.
var (
	starts  = make(chan func())
	starter sync.Once
)

// start runs a program in a namespace. The program is the first process of a PID namespace, so its
// end kills all its children (pid_namespaces(7)). It dies with this process (PR_SET_PDEATHSIG), and
// has its own session, so Ctrl-C reaches only this process.
//
// As the first process of its namespace it ignores signals without a handler, except SIGKILL.
func start(namespace string, c Command) (*Process, error) {
	starter.Do(func() {
		thread.Go(func() {
			for f := range starts {
				f()
			}
		})
	})
	var p *Process
	var err error
	started := make(chan struct{})
	starts <- func() {
		p, err = startHere(namespace, c)
		close(started)
	}
	<-started
	if err != nil {
		return nil, fmt.Errorf("starting %s on %s: %w", c.Path, namespace, err)
	}
	return p, nil
}

// startHere does not move the thread back: each start enters its own namespace first.
func startHere(namespace string, c Command) (*Process, error) {
	if err := enter(namespace); err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = tool.Environment()
	cmd.Dir = c.Dir
	cmd.Stdout = c.Stdout
	cmd.Stderr = c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL, Cloneflags: unix.CLONE_NEWPID}
	if c.Cgroup != nil {
		cmd.SysProcAttr.CgroupFD = int(c.Cgroup.Fd())
		cmd.SysProcAttr.UseCgroupFD = true
	}
	p := newProcess(c, func(s signal) { _ = cmd.Process.Signal(s) })
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		p.ended = time.Now()
		close(p.done)
	}()
	return p, nil
}

// Started returns the start time.
func (p *Process) Started() time.Time { return p.started }

// Done is closed when the program and all its children have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended waits for the end of the program and returns its time.
func (p *Process) Ended() time.Time {
	<-p.done
	return p.ended
}

// Err waits for the end of the program. It returns nil for status 0, or else an *exec.ExitError or
// a *vm.ExitError.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// LastLine returns the last line of standard error, if that is an *Output, or else the error of the
// program's end.
func (p *Process) LastLine() string {
	<-p.done
	if p.stderr != nil && p.stderr.lastWords() != "" {
		return p.stderr.lastWords()
	}
	return fmt.Sprint(p.err)
}

// Signal sends a signal. It does nothing after the program's end.
func (p *Process) Signal(s syscall.Signal) { p.send(s) }

// Kill kills the program and its children, and waits for their end.
func (p *Process) Kill() {
	p.Signal(unix.SIGKILL)
	<-p.done
}

// ErrKilled is the error of a program that did not end after its signal.
var ErrKilled = errors.New("it did not end in time and was killed")

// Stop sends a signal to the program and waits for its end.
func (p *Process) Stop(s syscall.Signal, patience time.Duration) error {
	p.Signal(s)
	return p.Await(patience)
}

// Await waits for the program and kills it if it does not end in time (ErrKilled). For a status
// other than 0 it returns an error with the last line.
func (p *Process) Await(patience time.Duration) error {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-p.done:
	case <-timeout.C:
		p.Kill()
		return ErrKilled
	}
	switch {
	case p.err == nil:
		return nil
	case p.stderr == nil || p.stderr.lastWords() == "":
		return p.err
	}
	return fmt.Errorf("%w: %s", p.err, p.stderr.lastWords())
}
