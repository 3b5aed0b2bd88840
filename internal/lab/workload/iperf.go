package workload

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
)

// iperfSpare is added to a flow's time. iperf3 accepts only whole seconds, so it gets more time and
// a signal at its stop; both ends then report as usual.
const iperfSpare = time.Hour

// iperfInterval is the time between a server's reports, in s.
const iperfInterval = "1"

// iperfMaxInterval is iperf3's longest interval, in s.
const iperfMaxInterval = 60

// iperfInterval returns the interval of the client's reports: a second of real time, if iperf3
// accepts it.
func (f *flow) iperfInterval() string {
	return strconv.FormatFloat(min(f.from.ClockRate(), iperfMaxInterval), 'f', -1, 64)
}

func (s *Session) startIperf(f *flow) error {
	path, err := machine.Iperf3.Path()
	if err != nil {
		return err
	}
	f.server = &server{name: "iperf3", on: f.to, ports: []uint16{f.port}}
	return s.serve(f.server, path, []string{
		"--server", "--one-off", "--json", "--interval", iperfInterval,
		"--bind", f.to.Address().String(), "--port", strconv.Itoa(int(f.port)),
	}, f.Name+"-server.json")
}

// iperfMaxTime is iperf3's longest time, in s.
const iperfMaxTime = 86400

// iperfArgs returns the client's arguments, in times of its machine's clock. The plan's rate is for
// the whole flow, but iperf3 expects the rate of each connection.
func (f *flow) iperfArgs(left time.Duration) []string {
	args := []string{
		"--client", f.to.Address().String(), "--port", strconv.Itoa(int(f.port)), "--json", "--interval",
		f.iperfInterval(),
		"--time", strconv.Itoa(min(int(math.Ceil(f.guestTime(left+iperfSpare).Seconds())), iperfMaxTime)),
		"--connect-timeout", strconv.FormatInt(f.guestTime(f.options.ConnectTimeout).Milliseconds(), 10),
		"--parallel", strconv.Itoa(f.Flow.Parallel),
		// Zero means no limit.
		"--bitrate", strconv.FormatInt(int64(float64(f.Flow.Rate)/f.from.ClockRate())/int64(f.Flow.Parallel), 10),
	}
	if f.Flow.Protocol == plan.UDP {
		args = append(args, "--udp", "--length", strconv.FormatInt(int64(f.Flow.Length), 10))
	}
	switch f.Flow.Direction {
	case plan.Reverse:
		args = append(args, "--reverse")
	case plan.Both:
		args = append(args, "--bidir")
	}
	if f.Flow.Congestion != "" {
		args = append(args, "--congestion", f.Flow.Congestion)
	}
	return args
}

// iperf runs tcp and udp.
func (f *flow) iperf(ctx context.Context, when period, r *outcome) error {
	out, err := f.create(f.Name + "-client.json")
	if err != nil {
		return err
	}
	defer out.Close()
	r.addOutput(out.Name())
	r.addOutput(f.server.output.Name())
	p, err := f.client(f.iperfArgs(time.Until(when.stop)), out, out)
	if err != nil {
		return err
	}
	e, err := f.await(ctx, p, when.stop, unix.SIGINT, when.deadline)
	if err != nil {
		return err
	}
	client, err := readIperf(out.Name())
	if err == nil {
		client.toRealTime(f.from.ClockRate())
	}
	switch {
	case err != nil:
		return f.failed(reason(machine.Tail(out.Name()), e.err))
	case len(client.Start.Connected) == 0 && e.signaled:
		return f.unreached("no connection until its stop")
	case len(client.Start.Connected) == 0:
		return f.unreached(reason(client.Error, e.err))
	case !e.signaled:
		return f.failed(reason(client.Error, e.err))
	}
	// The server has noticed the end and writes its report.
	timeout := time.NewTimer(time.Until(when.deadline))
	defer timeout.Stop()
	select {
	case <-f.server.process.Done():
	case <-timeout.C:
		f.server.process.Kill()
		return fmt.Errorf("%s did not end within %s of the flow's stop and was killed", f.server, f.options.Grace)
	case <-ctx.Done():
		return errInterrupted
	}
	server, err := readIperf(f.server.output.Name())
	if err != nil {
		return fmt.Errorf("%s left no result: %s", f.server, f.server.lastWords())
	}
	if f.Flow.Direction != plan.Reverse {
		r.forward = trafficOf(f.Flow, client, server, client)
	}
	if f.Flow.Direction != plan.Forward {
		r.reverse = trafficOf(f.Flow, server, client, client)
	}
	return nil
}
