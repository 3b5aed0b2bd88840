package engine

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/awake"
	"airtide/internal/sys/clock"
)

// childVariable is the environment variable that marks a process as an engine.
const childVariable = "AIRTIDE_CELL_ENGINE"

// IsEngine reports whether this process was started as an engine.
func IsEngine() bool { return os.Getenv(childVariable) != "" }

// process is the engine's process.
type process struct {
	config   Config
	network  *network
	loop     *loop
	awake    io.Closer // until the process ends
	warnings []string

	begun     time.Time
	scheduled []int64 // times of statuses to take, in ns since begun
	taken     []*Status
}

// order is a message to the engine, a line of JSON. The configuration comes first. Each order is
// answered.
type order struct {
	Order string `json:"order"`
	// StatusesNs are the times at which statuses are taken, since an order to begin, in order.
	StatusesNs []int64 `json:"statuses_ns,omitempty"`
}

type answer struct {
	Error  string  `json:"error,omitempty"`
	Ready  *Ready  `json:"ready,omitempty"`
	Status *Status `json:"status,omitempty"`
}

// Ready is the engine's first message. It is sent when packets flow.
type Ready struct {
	PID int `json:"pid"`
	// Namespaces of the ports that are hosts, by the ports' names, for `ip netns exec`.
	Namespaces map[string]string `json:"namespaces"`
	// StartNs is the time of the engine's start on clock.Now (CLOCK_MONOTONIC). It is time 0 of the
	// World.
	StartNs int64 `json:"start_ns"`
	// Warnings lists the features that the kernel refused and that the engine runs without.
	Warnings []string `json:"warnings,omitempty"`
}

const (
	orderNameStatus = "status"
	orderNameTaken  = "taken" // the oldest status that was taken at its time, or none
	orderNameReset  = "reset"
	orderNameBegin  = "begin"
	orderNameStop   = "stop"
)

// Main is an engine's process, from its configuration on standard input to its end. It returns the
// exit status.
func Main(build Builder) (status int) {
	// The parent decides about Ctrl-C, also if it is sent to all processes. If the parent ends,
	// standard input ends too and SIGTERM arrives.
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	in := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	e := &process{}
	if err := e.open(in, build); err != nil {
		_ = out.Encode(answer{Error: err.Error()})
		return 1
	}
	defer func() {
		if err := e.close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}()
	orders := make(chan order)
	go readOrders(in, orders)
	if err := out.Encode(answer{Ready: e.ready()}); err != nil {
		return 1
	}
	return e.serve(orders, stop, out)
}

func readOrders(in *bufio.Reader, orders chan<- order) {
	defer close(orders)
	for d := json.NewDecoder(in); ; {
		var o order
		if d.Decode(&o) != nil {
			return // the other side has ended
		}
		orders <- o
	}
}

// serve answers orders until it receives a stop order or the loop fails.
func (e *process) serve(orders <-chan order, stop <-chan os.Signal, out *json.Encoder) int {
	for {
		select {
		case <-e.nextStatus():
			if err := e.take(); err != nil {
				_ = out.Encode(answer{Error: err.Error()})
				return 1
			}
		case <-stop:
			e.loop.command(orderStop)
			return 0
		case <-e.loop.done: // between orders it says nothing but its end
			_ = out.Encode(answer{Error: e.ended().Error()})
			return 1
		case o, ok := <-orders:
			if !ok || o.Order == orderNameStop {
				e.loop.command(orderStop)
				return 0
			}
			if err := out.Encode(e.answer(o)); err != nil {
				e.loop.command(orderStop)
				return 1
			}
		}
	}
}

// nextStatus returns a channel that receives when the next scheduled status is due.
func (e *process) nextStatus() <-chan time.Time {
	if len(e.scheduled) == 0 {
		return nil
	}
	return time.After(time.Until(e.begun.Add(time.Duration(e.scheduled[0]))))
}

// take takes the next scheduled status.
func (e *process) take() error {
	status, err := e.status()
	e.scheduled = e.scheduled[1:]
	e.taken = append(e.taken, status)
	return err
}

func (e *process) answer(o order) (a answer) {
	switch o.Order {
	case orderNameTaken:
		if len(e.taken) > 0 {
			a.Status = e.taken[0]
			e.taken = e.taken[1:]
		}
		return a
	case orderNameStatus:
		status, err := e.status()
		if err != nil {
			return answer{Error: err.Error()}
		}
		return answer{Status: status}
	case orderNameReset:
		if !e.loop.command(orderReset) {
			return answer{Error: e.ended().Error()}
		}
		return answer{}
	case orderNameBegin:
		if err := e.begin(); err != nil {
			return answer{Error: err.Error()}
		}
		e.begun = time.Now()
		e.scheduled = o.StatusesNs
		e.taken = nil
		return answer{}
	}
	return answer{Error: fmt.Sprintf("order %q is unknown", o.Order)}
}

func (e *process) begin() error {
	for _, p := range e.loop.ports {
		p.lost.begin = p.kernelLost()
		if p.credit != nil {
			p.credit.refusedBefore = p.credit.refused()
		}
	}
	if !e.loop.command(orderBegin) {
		return e.ended()
	}
	return nil
}

func (e *process) ended() error {
	if e.loop.failure != nil {
		return e.loop.failure
	}
	return errors.New("the engine has ended")
}

func (e *process) open(in *bufio.Reader, build Builder) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("reading the engine's configuration: %w", noEOF(err))
	}
	if err := json.Unmarshal(line, &e.config); err != nil {
		return fmt.Errorf("reading the engine's configuration: %w", err)
	}
	if err := e.config.check(); err != nil {
		return err
	}
	RemoveLeftovers()
	removeNamespaces(func(pid int) bool { return pid == os.Getpid() }) // left by an engine that had this PID
	l := &loop{
		coalesce: e.config.Coalesce, quantumNs: int64(e.config.Quantum), done: make(chan struct{}, 1),
	}
	l.world, err = build(e.config.World, l.callbacks())
	if err != nil {
		return err
	}
	e.network, err = newNetwork(&e.config)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			e.network.close()
		}
	}()
	l.ports = e.network.ports
	l.routes, err = newRoutes(l.ports)
	if err != nil {
		return err
	}
	l.pool, err = newPool(e.config.Slots)
	if err != nil {
		return err
	}
	l.copied.counts = make([]PortCounts, len(l.ports))
	if err = l.open(); err != nil {
		return err
	}
	e.loop = l
	e.prepare()
	started := make(chan struct{})
	go func() {
		// Never unlocked: the thread is the engine's.
		runtime.LockOSThread()
		e.warn(unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0), "timers are less exact")
		l.startNs = clock.Now()
		l.start = time.Now()
		close(started)
		l.run()
	}()
	<-started
	return nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// prepare keeps the runtime and the system from interrupting the loop.
func (e *process) prepare() {
	runtime.GC()
	debug.SetGCPercent(-1)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	// The garbage of status lines is collected rarely.
	debug.SetMemoryLimit(int64(m.Sys) + 256<<20)
	// Pages are locked when they are touched. The pages of the packet pool are touched already.
	e.warn(unix.Mlockall(unix.MCL_CURRENT|unix.MCL_FUTURE|unix.MCL_ONFAULT), "memory may be swapped out")
	if e.config.Priority < 0 {
		return
	}
	attr, err := unix.SchedGetAttr(0, 0)
	if err == nil && attr.Policy != unix.SCHED_RR {
		err = unix.EPERM
	}
	e.warn(
		err,
		"the engine has no real-time priority (SCHED_RR) and will fall behind when processors are busy; it "+
			"needs CAP_SYS_NICE",
	)
	// If processors cannot be kept awake, the engine runs without it, and the lateness is counted
	// as usual.
	e.awake, err = awake.Keep()
	if !errors.Is(err, awake.ErrNoEffect) {
		e.warn(err, "processors may sleep, and take a while to wake up")
	}
}

func (e *process) warn(err error, consequence string) {
	if err != nil {
		e.warnings = append(e.warnings, fmt.Sprintf("%s: %v", consequence, err))
	}
}

func (e *process) ready() *Ready {
	r := &Ready{PID: os.Getpid(), Namespaces: map[string]string{}, StartNs: e.loop.startNs, Warnings: e.warnings}
	for name, host := range e.network.hosts {
		r.Namespaces[name] = host.name
	}
	return r
}

func (e *process) close() (err error) {
	if e.config.EndProcesses {
		err = e.network.endProcesses()
	}
	e.loop.close()
	e.network.close()
	return err
}
