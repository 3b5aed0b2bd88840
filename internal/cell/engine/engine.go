package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Engine is a running engine process.
type Engine struct {
	// Ready is the engine's message at its start.
	Ready Ready

	command  *exec.Cmd
	orders   *os.File
	pipe     *os.File // from which answers come
	answers  *bufio.Reader
	complain *outputHead
	mu       sync.Mutex // one order at a time
	ended    chan struct{}
	waitErr  error
}

// stopTimeout is the longest time that an engine may need to undo its changes.
const stopTimeout = 10 * time.Second

// Start starts this program once more as an engine and waits until it carries packets. The engine
// ends with this process, also when the process is killed.
func Start(ctx context.Context, c Config) (*Engine, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := checkPrivilege(); err != nil {
		return nil, fmt.Errorf("starting the engine: %w", err)
	}
	configuration, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encoding the engine's configuration: %w", err)
	}
	e := &Engine{complain: &outputHead{}, ended: make(chan struct{})}
	if err := e.launch(&c); err != nil {
		return nil, fmt.Errorf("starting the engine: %w", err)
	}
	// Reading does not know of ctx; the end of the process ends it.
	release := context.AfterFunc(ctx, e.terminate)
	defer release()
	a, err := e.exchange(append(configuration, '\n'))
	if err == nil && a.Ready == nil {
		err = errors.New("the engine said nothing of being ready")
	}
	if err != nil {
		e.end()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("starting the engine: %w", ctx.Err())
		}
		return nil, fmt.Errorf("starting the engine: %w", err)
	}
	e.Ready = *a.Ready
	return e, nil
}

func (e *Engine) launch(c *Config) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	orders, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	defer orders.Close()
	answers, theirs, err := os.Pipe()
	if err != nil {
		ours.Close()
		return err
	}
	defer theirs.Close()
	e.orders = ours
	e.pipe = answers
	e.answers = bufio.NewReader(answers)
	e.command = exec.Command(self)
	e.command.Stdin = orders
	e.command.Stdout = theirs
	e.command.Stderr = e.complain
	// Preemption by signals would disturb the loop; its thread needs no preemption.
	e.command.Env = append(os.Environ(), childVariable+"=1", "GODEBUG=asyncpreemptoff=1",
		"GOMAXPROCS="+fmt.Sprint(max(runtime.NumCPU(), 2)))
	// A signal to the parent's process group does not reach the engine: the parent stops it in
	// order.
	e.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	started := make(chan error)
	go func() {
		// The thread that starts the process must live as long as it, or the process gets the
		// signal of its parent's death; and the process inherits the thread's priority, for all its
		// threads from the first on.
		runtime.LockOSThread() // never unlocked: nothing else shall run on it, should its priority remain
		err := withPriority(c.Priority, e.command.Start)
		started <- err
		if err == nil {
			e.waitErr = e.command.Wait()
			e.sweep()
			close(e.ended)
		}
	}()
	if err := <-started; err != nil {
		ours.Close()
		answers.Close()
		return err
	}
	return nil
}

// withPriority calls f on a thread with a real-time priority. If the kernel refuses the priority, f
// runs without it, and the engine warns later. The policy is SCHED_RR: under SCHED_FIFO a spinning
// thread of the Go runtime can block the thread that it waits for.
func withPriority(priority int, f func() error) error {
	if priority == 0 {
		priority = DefaultPriority
	}
	if priority > 0 {
		attr := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: uint32(priority)}
		if unix.SchedSetAttr(0, attr, 0) == nil {
			ordinary := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
			defer func() { _ = unix.SchedSetAttr(0, ordinary, 0) }()
		}
	}
	return f()
}

// sweep removes the namespaces of a killed engine.
func (e *Engine) sweep() {
	removeNamespaces(func(pid int) bool { return pid == e.command.Process.Pid })
}

// exchange sends an order and reads the answer.
func (e *Engine) exchange(order []byte) (a answer, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, writeErr := e.orders.Write(order)
	line, err := e.answers.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	switch {
	case err == nil && a.Error != "":
		return a, errors.New(a.Error)
	case err == nil:
		return a, writeErr
	}
	return a, e.exitReason(err)
}

// exitReason returns the reason why the engine does not answer.
func (e *Engine) exitReason(err error) error {
	select {
	case <-e.ended:
	case <-time.After(time.Second):
		return fmt.Errorf("reading from the engine: %w", err)
	}
	if said := e.complain.String(); said != "" {
		return fmt.Errorf("the engine has ended: %v: %s", e.waitErr, said)
	}
	return fmt.Errorf("the engine has ended: %w", errors.Join(e.waitErr, noEOF(err)))
}

func (e *Engine) do(o order) (answer, error) {
	line, err := json.Marshal(o)
	if err != nil {
		return answer{}, err
	}
	return e.exchange(append(line, '\n'))
}

// Status asks how the engine is doing.
func (e *Engine) Status() (*Status, error) {
	a, err := e.do(order{Order: orderNameStatus})
	if err != nil {
		return nil, err
	}
	if a.Status == nil {
		return nil, errors.New("the engine's answer has no status")
	}
	return a.Status, nil
}

// Begin sets time zero of a run. All counters in Status restart, lags included, and a Beginner is
// called. The engine takes statuses at the given times since then, in order, even while the caller
// waits for a processor. TakenStatus returns them.
func (e *Engine) Begin(statuses ...time.Duration) error {
	o := order{Order: orderNameBegin}
	for _, at := range statuses {
		o.StatusesNs = append(o.StatusesNs, int64(at))
	}
	_, err := e.do(o)
	return err
}

// TakenStatus returns the next status that Begin scheduled, or nil if its time has not come.
func (e *Engine) TakenStatus() (*Status, error) {
	a, err := e.do(order{Order: orderNameTaken})
	return a.Status, err
}

// Reset restarts the lag counters.
func (e *Engine) Reset() error {
	_, err := e.do(order{Order: orderNameReset})
	return err
}

// Ended is closed after the engine's process has ended.
func (e *Engine) Ended() <-chan struct{} { return e.ended }

// Stop ends the engine, with its namespaces and devices, and waits until it has ended.
func (e *Engine) Stop() error {
	select {
	case <-e.ended:
		return e.exitReason(io.ErrUnexpectedEOF)
	default:
	}
	return e.end()
}

// end closes the engine's standard input, which ends it.
func (e *Engine) end() error {
	e.orders.Close()
	e.awaitEnd()
	e.mu.Lock() // the engine's last output may still be read
	e.pipe.Close()
	e.mu.Unlock()
	if e.waitErr != nil {
		return fmt.Errorf("stopping the engine: %w: %s", e.waitErr, e.complain)
	}
	return nil
}

// terminate ends an engine that may not be reading orders yet.
func (e *Engine) terminate() {
	_ = e.command.Process.Signal(syscall.SIGTERM)
	e.awaitEnd()
}

// awaitEnd waits until the engine has ended. It kills the engine after stopTimeout.
func (e *Engine) awaitEnd() {
	select {
	case <-e.ended:
	case <-time.After(stopTimeout):
		_ = e.command.Process.Kill()
		<-e.ended
	}
}

// outputHead keeps the first bytes of the engine's standard error, which name the cause of a panic.
type outputHead struct {
	mu   sync.Mutex
	text []byte
}

const complaintBytes = 4096

func (c *outputHead) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, b[:min(len(b), complaintBytes-len(c.text))]...)
	return len(b), nil
}

func (c *outputHead) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.TrimSpace(string(c.text))
}
