package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"
)

// Command is a program to run in a guest. It has no input and no shell.
type Command struct {
	Path string   `json:"path"`
	Args []string `json:"args,omitempty"`
	Env  []string `json:"env,omitempty"`
	Dir  string   `json:"dir,omitempty"`
	// Stdout and Stderr receive the program's output; nil discards it. One goroutine calls both.
	Stdout io.Writer `json:"-"`
	Stderr io.Writer `json:"-"`
}

// ExitError describes the unsuccessful end of a program.
type ExitError struct {
	Status int
	Signal syscall.Signal // signal that killed it; 0 for none
}

func (e *ExitError) Error() string {
	if e.Signal != 0 {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Status)
}

// Process is a running or ended program in a guest.
type Process struct {
	guest   *Guest
	request *request
	number  uint32
	started time.Time
	ended   time.Time
	done    chan struct{}
	err     error
}

// Start runs a program in the guest as the first process of a PID namespace. The end of the program
// therefore kills all its children.
func (g *Guest) Start(ctx context.Context, c Command) (*Process, error) {
	fail := func(err error) (*Process, error) {
		return nil, fmt.Errorf("starting %s in the virtual machine: %w", c.Path, err)
	}
	r, number, err := g.ask(frameRun, c, c.Stdout, c.Stderr)
	if err != nil {
		return fail(err)
	}
	p := &Process{guest: g, request: r, number: number, done: make(chan struct{})}
	select {
	case <-r.started:
	case <-r.done:
		if r.err != nil {
			return fail(r.err)
		}
		if r.end.Error != "" {
			return fail(errors.New(r.end.Error))
		}
	case <-ctx.Done():
		return fail(context.Cause(ctx))
	}
	p.started = time.Now()
	go func() {
		<-r.done
		p.ended = time.Now()
		switch e := r.end; {
		case r.err != nil:
			p.err = r.err
		case e.Error != "":
			p.err = errors.New(e.Error)
		case e.Status != 0 || e.Signal != 0:
			p.err = &ExitError{e.Status, syscall.Signal(e.Signal)}
		}
		close(p.done)
	}()
	return p, nil
}

// Run runs a program to its end. If the program fails, the error contains its standard error,
// unless c has a writer for it.
func (g *Guest) Run(ctx context.Context, c Command) error {
	var said strings.Builder
	if c.Stderr == nil {
		c.Stderr = &said
	}
	p, err := g.Start(ctx, c)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Kill()
		return context.Cause(ctx)
	}
	if p.err == nil {
		return nil
	}
	err = fmt.Errorf("%s in the virtual machine: %w", c.Path, p.err)
	if text := strings.TrimSpace(said.String()); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// Started returns the start time by this machine's clock.
func (p *Process) Started() time.Time { return p.started }

// Ended waits for the end of the program and returns its time by this machine's clock.
func (p *Process) Ended() time.Time {
	<-p.done
	return p.ended
}

// Done is closed when the program and all its children have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err waits for the end of the program. It returns nil for status 0, an *ExitError, or the reason
// of the guest's end.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Signal sends a signal. It does nothing after the process's end.
func (p *Process) Signal(s syscall.Signal) {
	_ = p.guest.to.writeJSON(frameSignal, p.number, int(s)) // a guest that has ended has no process
}

// Kill kills the process and its children, and waits for their end.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}
