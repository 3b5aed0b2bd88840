package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
	"airtide/internal/vm"
)

// Machine is one end of flows.
type Machine struct {
	Name      string
	Namespace string // below /run/netns
	Address   netip.Addr
	// Guest, where it is not nil, is the virtual machine that is in the namespace's place. Only clients can be there.
	Guest *vm.Guest
	// Clock is how many times as fast as real time the machine's clock runs; 0 means 1. Options and reports of flows are in
	// real time.
	Clock float64
}

// warped is a time by the machine's clock.
func (m Machine) warped(d time.Duration) time.Duration { return time.Duration(float64(d) * m.clock()) }

func (m Machine) clock() float64 { return cmp.Or(m.Clock, 1) }

// Options of a session. Zero values stand for the defaults.
type Options struct {
	// Folder, which must exist, takes what the programs write.
	Folder string
	// Seed of what is random: the sizes and pauses of web.
	Seed uint64
	// FirstPort of the flows' ports; default FirstPort.
	FirstPort uint16
	// ConnectTimeout is how long a client tries to reach its server; default 10 s.
	ConnectTimeout time.Duration
	// Grace is how long a program may go on after its stop, and a server may take to start; default 10 s.
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
		o.Grace = 10 * time.Second
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

// flow is one flow with its ends.
type flow struct {
	plan.FlowSetup
	*Session
	from, to Machine
	port     uint16
	server   *server // nil for ping
	// group has the clients of a flow with a congestion control that its program has no option for.
	group *machine.CongestionGroup
}

// clients is the program that a protocol's client is.
var clients = map[plan.Protocol]machine.Tool{
	plan.TCP: machine.Iperf3, plan.UDP: machine.Iperf3,
	plan.HTTPPut: machine.Curl, plan.HTTPGet: machine.Curl, plan.Transfers: machine.Curl, plan.Web: machine.Curl,
	plan.Ping: machine.Ping,
}

// Prepare starts the servers of the flows and waits until they answer. The session must be closed.
func Prepare(ctx context.Context, flows []plan.FlowSetup, machines []Machine, o Options) (s *Session, err error) {
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
		for _, end := range []struct {
			name string
			is   *Machine
		}{{setup.From, &f.from}, {setup.To, &f.to}} {
			at := slices.IndexFunc(machines, func(m Machine) bool { return m.Name == end.name })
			if at < 0 {
				return s, fmt.Errorf("flow %s is of the machine %s, which is not there", setup.Name, end.name)
			}
			*end.is = machines[at]
		}
		tool, ok := clients[setup.Flow.Protocol]
		if !ok {
			return s, fmt.Errorf("flow %s has the unknown protocol %q", setup.Name, setup.Flow.Protocol)
		}
		if s.tools[setup.Flow.Protocol], err = tool.Path(); err != nil {
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

// prepareCongestion makes sure of the flow's own congestion control. iperf3 has an option for it, curl has not.
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

// Run carries out the flows, whose times count from time zero, and returns when all have ended: at the latest a grace
// after the last stop. When ctx ends, so do they, at once. The results are in the order of the flows; those of flows that
// failed have an Error.
func (s *Session) Run(ctx context.Context, zero time.Time) []Result {
	results := make([]Result, len(s.flows))
	var all sync.WaitGroup
	for i, f := range s.flows {
		all.Go(func() { results[i] = f.run(ctx, zero) })
	}
	all.Wait()
	return results
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

// create makes a file in the run's folder, appended to by all that write to it.
func (s *Session) create(name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.options.Folder, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("making a file for what a program writes: %w", err)
	}
	return f, nil
}
