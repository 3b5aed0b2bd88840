package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/live"
	"airtide/internal/lab/machine"
	"airtide/internal/lab/measure"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/lab/setup"
	"airtide/internal/lab/workload"
	"airtide/internal/sys/clock"
)

// attempt carries out one run in dir. Where it comes so far, the result says whether it may be used.
type attempt struct {
	lab      *lab
	run      plan.Run
	setup    *plan.Setup
	dir      string
	progress *progress

	cell      *cell.Cell
	controls  *setup.CongestionControls
	ports     []uint16 // of the flows
	session   *workload.Session
	recording *recording
	captures  []*capture
	agents    []*agent
	changes   []change // of agents in mid-run
	guests    []*guest
	log       *machine.KernelLog
	poller    *poller
	before    machine.ProcessorTime
	computer  map[string]string // sysctls that hold for all namespaces

	result *result.Result
}

func (l *lab) attempt(ctx context.Context, run plan.Run, dir string, p *progress) (*attempt, error) {
	a := &attempt{
		lab: l, run: run, setup: l.plan.Points[run.Point].Setup, dir: dir, progress: p, result: result.New(l.plan, run),
	}
	stop := p.every(progressInterval)
	defer stop()
	err := a.carryOut(ctx)
	if closeErr := a.close(); err == nil {
		err = closeErr
	}
	a.result.Ended = time.Now()
	if err != nil {
		return a, err
	}
	p.at("measuring")
	return a, a.finish(ctx)
}

const progressInterval = 500 * time.Millisecond

// carryOut sets up, sends, and leaves what close is to end.
func (a *attempt) carryOut(ctx context.Context) error {
	steps := []func(context.Context) error{a.startCell, a.startServers, a.startRecordings, a.startAgents, a.warpGuests, a.send}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// startCell makes the cell and gives its machines their TCP.
func (a *attempt) startCell(ctx context.Context) (err error) {
	if a.ports, err = workload.Ports(workload.FirstPort, a.setup.Flows); err != nil {
		return err
	}
	var flows []cell.Flow
	for i, f := range a.setup.Flows {
		flows = append(flows, cell.Flow{Name: f.Name, Port: a.ports[i], From: f.From, To: f.To})
	}
	config := setup.CellConfig(a.setup, flows, a.run.Seed)
	config.Engine.LagLimit = a.lab.LagLimit
	if a.cell, err = cell.Start(ctx, config); err != nil {
		return err
	}
	a.result.Warnings = append(a.result.Warnings, a.cell.Warnings()...)
	if err := a.loadCongestion(); err != nil {
		return err
	}
	lacking, err := setup.ApplyStacks(a.cell, a.controls.In(a.setup))
	if err != nil {
		return err
	}
	a.result.Warnings = append(a.result.Warnings, lacking...)
	if err := a.bootGuests(ctx); err != nil {
		return err
	}
	for _, h := range a.cell.Hosts() {
		m, err := a.describeMachine(ctx, h)
		if err != nil {
			return fmt.Errorf("reading what %s has: %w", h.Name, err)
		}
		a.result.Machines = append(a.result.Machines, m)
	}
	return nil
}

// loadCongestion loads the congestion controls that the kernel has not.
func (a *attempt) loadCongestion() (err error) {
	if a.controls, err = setup.LoadCongestion(a.setup); err != nil {
		return err
	}
	for _, c := range a.setup.CongestionControls {
		a.result.CongestionControls = append(a.result.CongestionControls, result.CongestionControl{
			Name: c.Name, Kind: c.Kind, LoadedAs: a.controls.Loaded[c.Name], Parameters: c.Parameters, Bounds: c.Bounds,
		})
	}
	return nil
}

func (a *attempt) startServers(ctx context.Context) (err error) {
	var machines []workload.Machine
	for _, h := range a.cell.Hosts() {
		g := a.guest(h.Name)
		machines = append(machines, workload.Machine{
			Name: h.Name, Namespace: h.Namespace, Address: h.Address, Guest: g.machine(), Clock: g.ratio(),
		})
	}
	a.session, err = workload.Prepare(ctx, a.controls.In(a.setup).Flows, machines, workload.Options{Folder: a.dir, Seed: a.run.Seed})
	return err
}

func (a *attempt) startRecordings(ctx context.Context) (err error) {
	var hosts []cell.Host
	for _, h := range a.hosts(a.setup.RecordTCP) {
		if g := a.guest(h.Name); g == nil {
			hosts = append(hosts, h)
		} else if err := a.recordGuest(ctx, g); err != nil {
			return err
		}
	}
	if len(hosts) > 0 {
		if a.recording, err = startRecording(ctx, a.dir, a.lab.Tool, hosts); err != nil {
			return err
		}
	}
	for _, h := range a.hosts(a.setup.RecordPackets) {
		c, err := startCapture(a.dir, h, a.guest(h.Name) != nil)
		if err != nil {
			return err
		}
		a.captures = append(a.captures, c)
	}
	if a.log, err = machine.MarkKernelLog(); err != nil {
		a.result.Warnings = append(a.result.Warnings, "the kernel's log is not kept: "+err.Error())
		a.log, err = nil, nil
	}
	return err
}

// hosts are the machines of a list of names.
func (a *attempt) hosts(names []string) []cell.Host {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	var hosts []cell.Host
	for _, h := range a.cell.Hosts() {
		if wanted[h.Name] {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// send lets the flows run, from time zero to the end, and counts meanwhile.
func (a *attempt) send(ctx context.Context) error {
	series, err := result.CreateSeries(filepath.Join(a.dir, result.SeriesFile))
	if err != nil {
		return err
	}
	a.poller = &poller{
		cell: a.cell, interval: time.Duration(a.setup.RecordInterval), warmup: time.Duration(a.setup.Warmup),
		end: time.Duration(a.setup.Duration), series: series,
	}
	var bounds []time.Duration
	for _, f := range a.setup.Flows {
		bounds = append(bounds, time.Duration(f.Start), time.Duration(f.Flow.Stop))
	}
	if a.before, err = machine.ReadProcessorTime(); err != nil {
		return errors.Join(fmt.Errorf("reading the processors' time: %w", err), series.Close())
	}
	if err := a.cell.Begin(); err != nil {
		return errors.Join(err, series.Close())
	}
	if answers, err := live.Serve(a.lab.plan.Experiment.Name+" "+a.run.ID, a.cell); err != nil {
		a.result.Warnings = append(a.result.Warnings, "airtide cell status does not show this run: "+err.Error())
	} else {
		defer answers.Close()
	}
	zero := time.Now()
	a.result.ZeroNs = clock.Now()
	a.result.Started = zero
	a.progress.sending(zero)

	// An engine that dies takes the run with it.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-a.cell.Ended():
			cancel(errEngine)
		case <-ctx.Done():
		}
	}()
	polled := make(chan error, 1)
	go func() {
		err := a.poller.run(ctx, zero, bounds)
		polled <- errors.Join(err, series.Close())
	}()
	counted := make(chan error, 1)
	go func() { counted <- a.count(ctx, zero) }()
	changed := make(chan error, 1)
	go func() { changed <- a.changeAgents(ctx, zero) }()
	results := a.session.Run(ctx, zero)
	err = errors.Join(<-polled, <-counted, <-changed)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	after, timeErr := machine.ReadProcessorTime()
	if timeErr != nil {
		return fmt.Errorf("reading the processors' time: %w", timeErr)
	}
	a.result.StolenPercent = after.StolenPercent(a.before)
	if err := a.measureClocks(ctx); err != nil {
		return err
	}
	a.addFlows(results)
	a.result.Series = result.SeriesFile
	return err
}

var errEngine = errors.New("the cell's engine has ended in mid-run")

// close ends everything that runs, also after an error, and the recordings last.
func (a *attempt) close() error {
	var errs []error
	if a.session != nil {
		errs = append(errs, a.session.Close())
	}
	errs = append(errs, a.endAgents())
	for _, c := range a.captures {
		errs = append(errs, c.end())
	}
	if a.recording != nil {
		errs = append(errs, a.recording.end())
	}
	for _, g := range a.guests {
		errs = append(errs, a.endGuest(g))
	}
	if a.cell != nil {
		select {
		case <-a.cell.Ended(): // said already
		default:
			errs = append(errs, a.cell.Stop())
		}
	}
	if a.controls != nil {
		errs = append(errs, a.controls.Close())
	}
	if a.log != nil {
		errs = append(errs, a.keepLog(), a.log.Close())
	}
	return errors.Join(errs...)
}

// finish judges the run and takes its measurements.
func (a *attempt) finish(ctx context.Context) error {
	r := a.result
	system, err := a.lab.describeSystem(ctx)
	if err != nil {
		return err
	}
	r.System = *system
	r.System.Sysctls = a.computer
	r.Cell = a.poller.window()
	r.Engine = a.poller.to.Engine
	for _, f := range r.Flows {
		if f.Error != "" {
			r.Problems = append(r.Problems, fmt.Sprintf("flow %s: %s", f.Name, f.Error))
		}
	}
	r.Problems = append(r.Problems, emulatorProblems(a.poller.to, r.StolenPercent)...)
	m := measure.Run{Setup: a.setup, Flows: r.Flows, Machines: r.Machines, Window: r.Cell, Counts: &a.poller.counts}
	if err := a.readRecordings(&m); err != nil {
		return err
	}
	for _, c := range a.captures {
		r.Captures = append(r.Captures, result.File{Machine: c.machine, Name: c.file})
	}
	for _, agent := range a.agents {
		r.Sharing = append(r.Sharing, result.File{Machine: agent.machine, Name: agent.file})
	}
	r.Measurements = m.Take(a.lab.plan.Experiment.Measure)
	r.Valid = len(r.Problems) == 0
	return nil
}
