package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
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

// part is a piece of an attempt that runs during the traffic. Stop also cleans up after a failed
// Start. It does nothing if Start was not reached.
type part interface {
	Start(ctx context.Context) error
	Stop() error
}

// attempt is one try of one run. Its files are in dir. Only the attempt writes the result.
type attempt struct {
	plan     *plan.Plan
	run      plan.Run
	setup    *plan.Setup
	dir      string
	computer *computer
	progress *progress
	result   *result.Result

	cell       *cellPart
	congestion *congestionPart
	machines   *machines
	traffic    *traffic
	tcp        *tcpRecorder
	guestTCP   *guestRecorder
	packets    *packetRecorder
	log        *logRecorder
	agents     *agents
	clocks     *clocks
	// started contains the parts whose Start was called.
	started []part

	sampler  *cellSampler
	counters *tcpCounters
	// disturbed is set if the computer disturbed the run, so that a further attempt may succeed.
	disturbed bool
}

func newAttempt(
	p *plan.Plan, run plan.Run, dir string, c *computer, lagLimit time.Duration, progress *progress,
) *attempt {
	s := p.Points[run.Point].Setup
	a := &attempt{
		plan: p, run: run, setup: s, dir: dir, computer: c, progress: progress, result: result.New(p, run),
	}
	a.cell = &cellPart{setup: s, seed: run.Seed, lagLimit: lagLimit}
	a.congestion = &congestionPart{setup: s}
	a.machines = &machines{setup: s, dir: dir, cell: a.cell, congestion: a.congestion}
	a.traffic = &traffic{setup: s, dir: dir, seed: run.Seed, congestion: a.congestion, machines: a.machines}
	a.tcp = &tcpRecorder{dir: dir, tool: c.tool, record: s.RecordTCP, radio: s.RecordRadio, machines: a.machines}
	a.guestTCP = &guestRecorder{dir: dir, tool: c.tool, record: s.RecordTCP, machines: a.machines}
	a.packets = &packetRecorder{dir: dir, record: s.RecordPackets, machines: a.machines}
	a.log = &logRecorder{dir: dir}
	a.agents = &agents{setup: s, dir: dir, machines: a.machines, cell: a.cell}
	a.clocks = &clocks{machines: a.machines}
	return a
}

// parts returns the parts in the order of their start and of their stop. Recordings stop after the
// agents, so they also contain the end of the agents.
func (a *attempt) parts() (start, stop []part) {
	start = []part{
		a.cell, a.congestion, a.machines, a.traffic, a.guestTCP, a.tcp, a.packets, a.log, a.agents, a.clocks,
	}
	stop = []part{
		a.traffic, a.agents, a.clocks, a.packets, a.tcp, a.guestTCP, a.machines, a.cell, a.congestion, a.log,
	}
	return start, stop
}

// try runs the attempt. If it returns no error, its result is valid.
func (a *attempt) try(ctx context.Context) (*result.Result, error) {
	start, stop := a.parts()
	err := a.start(ctx, start)
	if err == nil {
		err = a.send(ctx)
	}
	var stopErrors []error
	for _, p := range stop {
		if slices.Contains(a.started, p) {
			stopErrors = append(stopErrors, p.Stop())
		}
	}
	if err == nil {
		err = errors.Join(stopErrors...)
	}
	// The wall clock may have been set back during the run, and a result that ends before it starts
	// is refused.
	a.result.Ended = a.result.Started.Add(time.Since(a.result.Started))
	a.describe()
	if err != nil {
		return a.result, err
	}
	a.progress.enter("measuring")
	if err = a.summarise(ctx); err == nil && !a.result.Valid {
		err = errors.New(a.result.Problems[0])
	}
	if err != nil && a.disturbed {
		err = &DisturbedError{err}
	}
	return a.result, err
}

func (a *attempt) start(ctx context.Context, parts []part) error {
	for _, p := range parts {
		a.started = append(a.started, p)
		if err := p.Start(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

var errEngine = errors.New("the cell's engine ended during the run")

// send runs the traffic from time zero to the end and reads the counters during it.
func (a *attempt) send(ctx context.Context) (err error) {
	warmup := time.Duration(a.setup.Warmup)
	end := time.Duration(a.setup.Duration)
	c := a.cell.cell
	a.sampler, err = newCellSampler(a.dir, c, warmup)
	if err != nil {
		return err
	}
	a.counters = &tcpCounters{machines: a.machines.all}
	before, err := machine.ReadProcessorTime()
	if err != nil {
		return errors.Join(fmt.Errorf("reading the processors' time: %w", err), a.sampler.series.Close())
	}
	times := a.sampler.plan(time.Duration(a.setup.RecordInterval), end, flowTimes(a.setup))
	if err := c.Begin(times...); err != nil {
		return errors.Join(err, a.sampler.series.Close())
	}
	if answers, err := live.Serve(a.plan.Experiment.Name+" "+a.run.ID, c); err != nil {
		a.warn("airtide cell status does not show this run: " + err.Error())
	} else {
		defer answers.Close()
	}
	zero := time.Now()
	a.result.ZeroNs = clock.Now()
	a.result.Started = zero
	a.progress.setZero(zero)

	ctx, cancel := withEngine(ctx, c)
	defer cancel()
	// Each timeline has its own goroutine: a slow agent delays no counter.
	timelines := [][]event{
		a.sampler.events(),
		a.counters.events(warmup, end),
		a.agents.events,
	}
	errs := make([]error, len(timelines), len(timelines)+1)
	var all sync.WaitGroup
	for i, events := range timelines {
		all.Go(func() { errs[i] = runTimeline(ctx, zero, events) })
	}
	flows := a.traffic.session.Run(ctx, zero)
	all.Wait()
	err = errors.Join(append(errs, a.sampler.series.Close())...)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	after, timeErr := machine.ReadProcessorTime()
	if timeErr != nil {
		return fmt.Errorf("reading the processors' time: %w", timeErr)
	}
	a.result.StolenPercent = after.StolenPercent(before)
	if err := a.clocks.readRates(ctx); err != nil {
		return err
	}
	a.result.Flows = flows
	a.result.Series = result.SeriesFile
	return err
}

// withEngine returns a context that ends with errEngine when the cell's engine ends.
func withEngine(ctx context.Context, c *cell.Cell) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-c.Ended():
			cancel(errEngine)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

func (a *attempt) warn(warnings ...string) {
	a.result.Warnings = append(a.result.Warnings, warnings...)
}

// describe writes the data of the started parts into the result.
func (a *attempt) describe() {
	r := a.result
	sent := r.Warnings
	r.Warnings = slices.Concat(a.cell.warnings(), a.machines.warnings, a.log.warnings, sent)
	r.CongestionControls = a.congestion.described()
	r.Machines = a.machines.described
	for i := range r.Machines {
		m := &r.Machines[i]
		m.Clock = a.clocks.rate(m.Name)
		if a.counters != nil {
			m.Counters = a.counters.growth[m.Name]
		}
	}
	r.Problems = append(a.clocks.problems(), a.machines.problems...)
	for _, f := range a.guestTCP.Files() {
		r.Recordings = append(r.Recordings, a.clocks.place(f, r.ZeroNs))
	}
	r.Recordings = append(r.Recordings, a.tcp.Files()...)
	r.Captures = a.packets.Files()
	r.Sharing = a.agents.Files()
	r.KernelLog = a.log.file
}

// summarise checks whether the run is valid and takes its measurements.
func (a *attempt) summarise(ctx context.Context) error {
	r := a.result
	system, err := a.computer.describe(ctx)
	if err != nil {
		return err
	}
	r.System = *system
	r.System.Sysctls = a.machines.sysctls
	r.Cell = a.sampler.window()
	r.Engine = a.sampler.to.Engine
	for _, f := range r.Flows {
		if f.Error != "" {
			r.Problems = append(r.Problems, fmt.Sprintf("flow %s: %s", f.Name, f.Error))
		}
	}
	r.Problems = append(r.Problems, emulatorProblems(a.sampler.to, r.StolenPercent)...)
	a.disturbed = late(a.sampler.to)
	if problem := a.sampler.readLate(time.Duration(a.setup.Duration)); problem != "" {
		a.disturbed = true
		r.Problems = append(r.Problems, problem)
	}
	m := measure.Run{
		Setup: a.setup, Flows: r.Flows, Machines: r.Machines, Window: r.Cell, Counts: &a.sampler.counts,
		Kernel: map[string]measure.Kernel{},
	}
	if err := a.readRecordings(&m); err != nil {
		return err
	}
	r.Measurements = m.Take(a.plan.Experiment.Measure)
	r.Valid = len(r.Problems) == 0
	return nil
}

// readRecordings adds the kernels' recordings to a measurement.
func (a *attempt) readRecordings(m *measure.Run) error {
	for _, f := range a.guestTCP.Files() {
		file := a.clocks.place(f, a.result.ZeroNs)
		if err := a.readRecording(m, file, a.guestTCP.loss(f.Machine), f.Machine); err != nil {
			return err
		}
	}
	files := a.tcp.Files()
	if len(files) == 0 {
		return nil
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Machine)
	}
	return a.readRecording(m, files[0], a.tcp.loss(), names...)
}

// readRecording reads one recording and adds the flows that its machines send.
func (a *attempt) readRecording(m *measure.Run, file result.File, loss string, machines ...string) error {
	kernel, faults, err := measure.ReadKernel(filepath.Join(a.dir, file.Name), file.ClockFrom(a.result.ZeroNs),
		time.Duration(a.setup.Warmup), time.Duration(a.setup.Duration), measure.Senders(a.setup, a.result, machines...),
		measure.WantsLimits(a.plan.Experiment.Measure))
	if err != nil {
		return fmt.Errorf("reading the recording: %w", err)
	}
	for flow, k := range kernel {
		m.Kernel[flow] = k
	}
	if faults.Window != "" {
		a.disturbed = true
		a.result.Problems = append(a.result.Problems, faults.Window)
	}
	for _, warning := range []string{loss, faults.Damage} {
		if warning != "" {
			a.warn(warning)
		}
	}
	return nil
}

// cellPart is the emulated cell.
type cellPart struct {
	setup    *plan.Setup
	seed     uint64
	lagLimit time.Duration
	cell     *cell.Cell
}

func (c *cellPart) Start(ctx context.Context) error {
	ports, err := workload.Ports(workload.FirstPort, c.setup.Flows)
	if err != nil {
		return err
	}
	var flows []cell.Flow
	for i, f := range c.setup.Flows {
		flows = append(flows, cell.Flow{Name: f.Name, Port: ports[i], From: f.From, To: f.To})
	}
	config := setup.CellConfig(c.setup, flows, c.seed)
	config.Engine.LagLimit = c.lagLimit
	c.cell, err = cell.Start(ctx, config)
	return err
}

// Stop does nothing if the cell has already ended; send has then reported the error.
func (c *cellPart) Stop() error {
	if c.cell == nil {
		return nil
	}
	select {
	case <-c.cell.Ended():
		return nil
	default:
		return c.cell.Stop()
	}
}

func (c *cellPart) warnings() []string {
	if c.cell == nil {
		return nil
	}
	return c.cell.Warnings()
}

// congestionPart loads the congestion controls of airtide for the run.
type congestionPart struct {
	setup    *plan.Setup
	controls *setup.CongestionControls
}

func (c *congestionPart) Start(context.Context) (err error) {
	c.controls, err = setup.LoadCongestion(c.setup)
	return err
}

func (c *congestionPart) Stop() error {
	if c.controls == nil {
		return nil
	}
	return c.controls.Close()
}

// loaded returns the setup with the names that the kernel uses for the congestion controls.
func (c *congestionPart) loaded() *plan.Setup { return c.controls.In(c.setup) }

func (c *congestionPart) described() (all []result.CongestionControl) {
	if c.controls == nil {
		return nil
	}
	for _, one := range c.setup.CongestionControls {
		all = append(all, result.CongestionControl{
			Name: one.Name, Kind: one.Kind, LoadedAs: c.controls.Loaded[one.Name],
			Parameters: one.Parameters, Bounds: one.Bounds,
		})
	}
	return all
}

// traffic is the flows and their servers.
type traffic struct {
	setup      *plan.Setup
	dir        string
	seed       uint64
	congestion *congestionPart
	machines   *machines
	session    *workload.Session
}

func (t *traffic) Start(ctx context.Context) (err error) {
	t.session, err = workload.Prepare(ctx, t.congestion.loaded().Flows, t.machines.all,
		workload.Options{Folder: t.dir, Seed: t.seed})
	return err
}

func (t *traffic) Stop() error {
	if t.session == nil {
		return nil
	}
	return t.session.Close()
}
