package machine

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/thread"
	"airtide/internal/vm"
)

// Command is a program to run on a machine. It is given no input, a short environment of its own, and no shell.
type Command struct {
	Namespace string
	// Guest, where it is not nil, is the virtual machine in which it is to run, in place of the namespace.
	Guest *vm.Guest
	Path  string
	Args  []string
	Dir   string
	// Stdout and Stderr take what it prints; nil throws it away. They may be the same file.
	Stdout, Stderr *os.File
	// Cgroup, where it is not nil, is the folder of the cgroup that the program is to be in.
	Cgroup *os.File
}

// Process is a program that runs, or has run.
type Process struct {
	cmd     *exec.Cmd
	guest   *vm.Process // in place of cmd
	started time.Time
	done    chan struct{}
	ended   time.Time
	err     error
}

// starts are carried out one after another by a thread that lives as long as this process, because the kernel sends the
// signal of a parent's death when the thread that was the parent ends.
var (
	starts  = make(chan func())
	starter sync.Once
)

// Start runs a program on a machine, so that nothing of it can be left over: it is the first process of a PID namespace,
// so that when it ends the kernel kills all that it has started, wherever that has gone (pid_namespaces(7)); and the
// kernel kills it when this process dies, however that happens (PR_SET_PDEATHSIG). It has a session of its own, so that
// Ctrl-C reaches this process alone. Being the first, it does not die of signals other than SIGKILL for which it has no
// handler.
func Start(c Command) (*Process, error) {
	if c.Guest != nil {
		return startInGuest(c)
	}
	starter.Do(func() {
		thread.Go(func() {
			for f := range starts {
				f()
			}
		})
	})
	type result struct {
		p   *Process
		err error
	}
	started := make(chan result, 1)
	starts <- func() {
		p, err := start(c)
		started <- result{p, err}
	}
	r := <-started
	if r.err != nil {
		return nil, fmt.Errorf("starting %s on %s: %w", c.Path, c.Namespace, r.err)
	}
	return r.p, nil
}

// start leaves the thread in the namespace: each start enters its own first.
func start(c Command) (*Process, error) {
	if err := enter(c.Namespace); err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, environment()
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = c.Stderr
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL, Cloneflags: unix.CLONE_NEWPID}
	if c.Cgroup != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(c.Cgroup.Fd())
	}
	p := &Process{cmd: cmd, started: time.Now(), done: make(chan struct{})}
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

// environment keeps what the user has set from changing what programs do: proxies, languages, libraries.
func environment() []string {
	env := []string{"LC_ALL=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	if dir, ok := os.LookupEnv("TMPDIR"); ok {
		env = append(env, "TMPDIR="+dir)
	}
	return env
}

// Started is when it was started.
func (p *Process) Started() time.Time { return p.started }

// Done is closed when it has ended, and all that it started with it.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended is when it ended, after Done.
func (p *Process) Ended() time.Time {
	<-p.done
	return p.ended
}

// Err is how it ended, after Done: nil for status 0, else an *exec.ExitError or a *vm.ExitError.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Signal sends a signal; to a process that has ended it does nothing.
func (p *Process) Signal(s syscall.Signal) {
	if p.guest != nil {
		p.guest.Signal(s)
		return
	}
	_ = p.cmd.Process.Signal(s)
}

// Kill kills the process with all that it has started, and waits until they are gone.
func (p *Process) Kill() {
	p.Signal(unix.SIGKILL)
	<-p.done
}
