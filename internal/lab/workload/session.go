package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// Options of a session. Zero values mean the defaults.
type Options struct {
	// Folder is an existing folder for the output of programs.
	Folder string
	// Seed determines the sizes and pauses of web.
	Seed uint64
	// FirstPort of the flows' ports; default FirstPort.
	FirstPort uint16
	// ConnectTimeout limits the time of a client's attempts to reach its server; the default is 10
	// s.
	ConnectTimeout time.Duration
	// Grace limits the time of a program after its stop, and the start of a server; the default is
	// 30 s: through a queue of seconds, the end of a connection takes several of them.
	Grace time.Duration
}

func (o *Options) setDefaults() {
	if o.FirstPort == 0 {
		o.FirstPort = FirstPort
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	if o.Grace == 0 {
		o.Grace = 30 * time.Second
	}
}

// Session is the traffic of one run.
type Session struct {
	options Options
	flows   []*flow
	servers []*server
	content *content // nil without http
	tools   map[plan.Protocol]string
}

// flow is one flow with its two ends.
type flow struct {
	plan.FlowSetup
	*Session
	from   machine.Machine
	to     *machine.Namespace
	port   uint16
	server *server // nil for ping
	// group contains the client programs that have no option for the congestion control.
	group *machine.CongestionGroup
	// command is the command of the first client, which sets it once.
	command []string
	first   sync.Once
}

// clients maps each protocol to its client program.
var clients = map[plan.Protocol]machine.Tool{
	plan.TCP: machine.Iperf3, plan.UDP: machine.Iperf3,
	plan.HTTPPut: machine.Curl, plan.HTTPGet: machine.Curl, plan.Transfers: machine.Curl, plan.Web: machine.Curl,
	plan.Ping: machine.Ping,
}

// Prepare starts the servers of the flows and waits until they answer. The session must be closed.
func Prepare(ctx context.Context, flows []plan.FlowSetup, machines machine.Set, o Options) (s *Session, err error) {
	o.setDefaults()
	s = &Session{options: o, tools: map[plan.Protocol]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
			s = nil
		}
	}()
	ports, err := Ports(o.FirstPort, flows)
	if err != nil {
		return s, err
	}
	names := map[string]bool{}
	for i, setup := range flows {
		if names[setup.Name] {
			return s, fmt.Errorf("two flows are named %s", setup.Name)
		}
		names[setup.Name] = true
		f := &flow{FlowSetup: setup, Session: s, port: ports[i]}
		if err := f.findMachines(machines); err != nil {
			return s, err
		}
		tool, ok := clients[setup.Flow.Protocol]
		if !ok {
			return s, fmt.Errorf("flow %s has the unknown protocol %q", setup.Name, setup.Flow.Protocol)
		}
		s.tools[setup.Flow.Protocol], err = tool.Path()
		if err != nil {
			return s, fmt.Errorf("flow %s (%s): %w", setup.Name, setup.Flow.Protocol, err)
		}
		if err := f.prepareCongestion(); err != nil {
			return s, err
		}
		s.flows = append(s.flows, f)
	}
	if err := s.startServers(); err != nil {
		return s, err
	}
	for _, server := range s.servers {
		if err := server.ready(ctx, o.Grace); err != nil {
			return s, err
		}
	}
	return s, nil
}

// findMachines finds both ends of the flow. Only a namespace can be a server.
func (f *flow) findMachines(machines machine.Set) error {
	f.from = machines.Get(f.From)
	if f.from == nil {
		return fmt.Errorf("flow %s: unknown machine %s", f.Name, f.From)
	}
	to := machines.Get(f.To)
	if to == nil {
		return fmt.Errorf("flow %s: unknown machine %s", f.Name, f.To)
	}
	server, ok := to.(*machine.Namespace)
	if !ok {
		return fmt.Errorf("flow %s is to %s: a virtual machine cannot be a server", f.Name, f.To)
	}
	f.to = server
	return nil
}

// guestTime converts a time to the clock of the flow's client.
func (f *flow) guestTime(d time.Duration) time.Duration {
	return time.Duration(float64(d) * f.from.ClockRate())
}

// prepareCongestion prepares the flow's own congestion control. iperf3 has an option for it, but
// curl does not.
func (f *flow) prepareCongestion() (err error) {
	if f.Flow.Congestion == "" {
		return nil
	}
	if err := machine.CheckCongestion(f.Flow.Congestion); err != nil {
		return fmt.Errorf("flow %s: %w", f.Name, err)
	}
	if f.Flow.Protocol == plan.Transfers {
		f.group, err = machine.NewCongestionGroup(f.Name, f.Flow.Congestion)
	}
	return err
}

// Run runs the flows and returns their results in the same order. Times count from time zero. It
// returns Options.Grace after the last stop at the latest, or as soon as ctx ends; a failed flow
// has an Error.
func (s *Session) Run(ctx context.Context, zero time.Time) []result.Flow {
	var flows []result.Flow
	for _, o := range s.run(ctx, zero) {
		flows = append(flows, o.Flow)
	}
	return flows
}

func (s *Session) run(ctx context.Context, zero time.Time) []*outcome {
	outcomes := make([]*outcome, len(s.flows))
	var all sync.WaitGroup
	for i, f := range s.flows {
		all.Go(func() { outcomes[i] = f.run(ctx, zero) })
	}
	all.Wait()
	return outcomes
}

// Close ends the servers and removes their files.
func (s *Session) Close() error {
	var errs []error
	for _, server := range s.servers {
		server.process.Kill()
		errs = append(errs, server.output.Close())
	}
	s.servers = nil
	for _, f := range s.flows {
		if f.group != nil {
			errs = append(errs, f.group.Close())
			f.group = nil
		}
	}
	if s.content != nil {
		errs = append(errs, s.content.remove())
		s.content = nil
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("ending the workload: %w", err)
	}
	return nil
}

// create makes a file in the run's folder. Several writers may append to it.
func (s *Session) create(name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.options.Folder, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("making a file for the output of a program: %w", err)
	}
	return f, nil
}
