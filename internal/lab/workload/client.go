package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/vm"
)

// errInterrupted is the error of a flow that ended because of ctx.
var errInterrupted = errors.New("interrupted before its end")

// period is the time of a flow.
type period struct {
	start, stop time.Time
	// deadline is the time at which a running program is killed.
	deadline time.Time
}

// run runs the flow's programs. The result has an Error if it failed.
func (f *flow) run(ctx context.Context, zero time.Time) *outcome {
	r := &outcome{Flow: result.Flow{
		Name: f.Name, Group: f.Group, From: f.From, To: f.To,
		Protocol: string(f.Flow.Protocol), Direction: string(f.Flow.Direction), Port: f.port,
	}}
	when := period{start: zero.Add(time.Duration(f.Start)), stop: zero.Add(time.Duration(f.Flow.Stop))}
	when.deadline = when.stop.Add(f.options.Grace)
	if err := waitUntil(ctx, when.start); err != nil {
		r.Error = err.Error()
		return r
	}
	r.started = time.Since(zero)
	r.StartS = r.started.Seconds()
	run := map[plan.Protocol]func(context.Context, period, *outcome) error{
		plan.TCP: f.iperf, plan.UDP: f.iperf,
		plan.HTTPPut: f.http, plan.HTTPGet: f.http, plan.Transfers: f.http, plan.Web: f.web,
		plan.Ping: f.ping,
	}[f.Flow.Protocol]
	if err := run(ctx, when, r); err != nil {
		r.Error = err.Error()
		if f.server != nil && !errors.Is(err, errInterrupted) {
			r.Error += f.server.failure()
		}
	}
	r.Command = f.command
	r.StopS = time.Since(zero).Seconds()
	r.finish()
	return r
}

// serverEndTime is the longest time between the close of a server's connections and the detection
// of its end.
const serverEndTime = 200 * time.Millisecond

// failure returns the reason of a server's end; empty while it runs.
func (o *server) failure() string {
	timeout := time.NewTimer(serverEndTime)
	defer timeout.Stop()
	select {
	case <-o.process.Done():
		if o.process.Err() != nil {
			return fmt.Sprintf(" (%s has ended: %s)", o, o.lastWords())
		}
	case <-timeout.C:
	}
	return ""
}

// waitUntil waits until a time.
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
func (f *flow) client(args []string, stdout, stderr io.Writer) (*machine.Process, error) {
	c := machine.Command{Path: f.tools[f.Flow.Protocol], Args: args, Dir: "/", Stdout: stdout, Stderr: stderr}
	if f.group != nil {
		c.Cgroup = f.group.Dir()
	}
	f.first.Do(func() { f.command = append([]string{c.Path}, args...) })
	return f.from.Start(c)
}

// end describes the end of a program.
type end struct {
	signaled bool  // at its stop
	err      error // starting the program
}

// await waits for a program and sends it a signal at its stop. At the deadline, or when ctx ends,
// it kills the program and returns an error.
func (f *flow) await(ctx context.Context, p *machine.Process, stop time.Time, signal unix.Signal, deadline time.Time,
) (end, error) {
	atStop := time.NewTimer(time.Until(stop))
	atDeadline := time.NewTimer(time.Until(deadline))
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
			return e, fmt.Errorf("%s from %s to %s hung: it did not end within %s of the flow's stop and was killed",
				f.program(), f.From, f.To, f.options.Grace)
		case <-ctx.Done():
			p.Kill()
			return e, errInterrupted
		}
	}
}

// program returns the name of the client's program.
func (f *flow) program() string { return clients[f.Flow.Protocol].Programs[0] }

// failed returns the error of a client that ended by itself.
func (f *flow) failed(reason string) error {
	return fmt.Errorf("%s from %s to %s (%s) failed: %s", f.program(), f.From, f.To, f.target(), reason)
}

// unreached returns the error of a client without a connection.
func (f *flow) unreached(reason string) error {
	return fmt.Errorf("%s could not reach %s (%s): %s: %s", f.From, f.To, f.target(), f.program(), reason)
}

func (f *flow) target() string {
	if f.port == 0 {
		return f.to.Address().String()
	}
	return hostPort(f.to.Address(), f.port)
}

// reason returns a program's message. If the program printed nothing or was killed, it returns the
// error of the program's end.
func reason(said string, err error) string {
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

// seconds formats a time for the options of programs.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
