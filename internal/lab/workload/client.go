package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
	"airtide/internal/vm"
)

// errInterrupted is the error of what ctx has ended.
var errInterrupted = errors.New("interrupted before its end")

// span is the time of a flow.
type span struct {
	start, stop time.Time
	// deadline is when a program that has not ended is killed.
	deadline time.Time
}

// run carries out the flow.
func (f *flow) run(ctx context.Context, zero time.Time) Result {
	r := Result{Flow: f.Name, Protocol: f.Flow.Protocol, From: f.From, To: f.To, Port: f.port, Files: []string{}}
	when := span{start: zero.Add(time.Duration(f.Start)), stop: zero.Add(time.Duration(f.Flow.Stop))}
	when.deadline = when.stop.Add(f.options.Grace)
	if err := waitUntil(ctx, when.start); err != nil {
		r.Error = err.Error()
		return r
	}
	r.StartNs = time.Since(zero).Nanoseconds()
	carry := map[plan.Protocol]func(context.Context, span, *Result) error{
		plan.TCP: f.iperf, plan.UDP: f.iperf,
		plan.HTTPPut: f.http, plan.HTTPGet: f.http, plan.Transfers: f.http, plan.Web: f.web,
		plan.Ping: f.ping,
	}[f.Flow.Protocol]
	if err := carry(ctx, when, &r); err != nil {
		r.Error = err.Error()
		if f.server != nil && !errors.Is(err, errInterrupted) {
			r.Error += f.server.epitaph()
		}
	}
	r.EndNs = time.Since(zero).Nanoseconds()
	return r
}

// epitaphTime is what may pass from when a client sees its server's connections close until the server's end is known.
const epitaphTime = 200 * time.Millisecond

// epitaph says of a server that has died that it has.
func (o *server) epitaph() string {
	timeout := time.NewTimer(epitaphTime)
	defer timeout.Stop()
	select {
	case <-o.process.Done():
		if o.process.Err() != nil {
			return fmt.Sprintf(" (%s has ended: %s)", o, o.words())
		}
	case <-timeout.C:
	}
	return ""
}

// waitUntil waits for a time.
func waitUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errInterrupted
	}
}

// client starts a program on the machine that opens the flow's connections.
func (f *flow) client(args []string, stdout, stderr *os.File) (*machine.Process, error) {
	c := machine.Command{
		Namespace: f.from.Namespace, Guest: f.from.Guest, Path: f.tools[f.Flow.Protocol], Args: args, Dir: "/", Stdout: stdout, Stderr: stderr,
	}
	if f.group != nil {
		c.Cgroup = f.group.Dir()
	}
	return machine.Start(c)
}

// end is how a program came to its end.
type end struct {
	signaled bool  // at its stop
	err      error // of exec
}

// await waits for a program, sends it a signal at its stop, and kills it at the deadline: then, and when ctx ends, the
// error says so.
func (f *flow) await(ctx context.Context, p *machine.Process, stop time.Time, signal unix.Signal, deadline time.Time) (end, error) {
	atStop, atDeadline := time.NewTimer(time.Until(stop)), time.NewTimer(time.Until(deadline))
	defer atStop.Stop()
	defer atDeadline.Stop()
	var e end
	for {
		select {
		case <-p.Done():
			e.err = p.Err()
			return e, nil
		case <-atStop.C:
			e.signaled = true
			p.Signal(signal)
		case <-atDeadline.C:
			p.Kill()
			return e, fmt.Errorf("%s from %s to %s hung: it did not end within %s of its stop and was killed", f.program(), f.From, f.To, deadline.Sub(stop))
		case <-ctx.Done():
			p.Kill()
			return e, errInterrupted
		}
	}
}

// program is the name of the client's.
func (f *flow) program() string { return clients[f.Flow.Protocol].Programs[0] }

// failed is the error of a client that has ended by itself.
func (f *flow) failed(words string) error {
	return fmt.Errorf("%s from %s to %s (%s) failed: %s", f.program(), f.From, f.To, f.target(), words)
}

// unreached is the error of a client that had no connection.
func (f *flow) unreached(words string) error {
	return fmt.Errorf("%s could not reach %s (%s): %s: %s", f.From, f.To, f.target(), f.program(), words)
}

func (f *flow) target() string {
	if f.port == 0 {
		return f.to.Address.String()
	}
	return hostPort(f.to.Address, f.port)
}

// words is what a program said, or how it ended if it said nothing or was killed.
func words(said string, err error) string {
	said = strings.TrimSpace(said)
	var exit *exec.ExitError
	var inGuest *vm.ExitError
	switch {
	case said != "" && (errors.As(err, &exit) && !exit.Exited() || errors.As(err, &inGuest) && inGuest.Signal != 0):
		return err.Error() + ", after " + strconv.Quote(said)
	case said != "":
		return said
	case err != nil:
		return err.Error()
	}
	return "it ended early and said nothing"
}

// seconds writes a time for the options of programs.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
