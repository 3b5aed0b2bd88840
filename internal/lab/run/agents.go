package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/share"
	"airtide/internal/share/cellkey"
	"airtide/internal/units"
)

// agents are the processes "airtide share run" of the sharing terminals, and their hubs ("airtide
// share hub"). All have the same key.
type agents struct {
	setup    *plan.Setup
	dir      string
	machines *machines
	cell     *cellPart
	// events start, stop and change agents during the run.
	events []event
	all    []*agent
	// channel is the channel of the terminals whose agents know how busy it is.
	channel channel
}

// agent is one process. Its output is kept in a file.
type agent struct {
	machine string
	file    string
	process *machine.Process
	stdout  *machine.Output
	stderr  *machine.Output
	// stopping is true after the runner asked the agent to end. Without it, the end of the agent is
	// an error.
	stopping bool
}

const (
	keyFile     = "cell.key"
	agentName   = "share-" // the prefix of a machine's name
	agentSuffix = ".jsonl"
	hubName     = "hub-"
)

// Start starts an agent on each sharing terminal and waits until every agent knows its peers. The
// cell carries no multicast, so each agent gets the addresses of its peers or of its hub. Agents
// with a later start are left to events.
func (a *agents) Start(ctx context.Context) error {
	terminals := map[string]plan.TerminalSetup{}
	hubs := map[string]bool{}
	for _, t := range a.setup.Terminals {
		if t.Share.Agent() {
			terminals[t.Name] = t
			hubs[t.Share.Hub] = true
		}
	}
	if len(terminals) == 0 {
		return nil
	}
	key := filepath.Join(a.dir, keyFile)
	if err := makeKey(key); err != nil {
		return fmt.Errorf("making the cell's key: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program, for the agents: %w", err)
	}
	var sharing machine.Set
	for _, m := range a.machines.namespaces {
		if _, ok := terminals[m.Name()]; ok {
			sharing = append(sharing, m)
		}
		if hubs[m.Name()] {
			if err := a.start(program, m, hubName, "share", "hub", "--key", key, "--json"); err != nil {
				return err
			}
		}
	}
	var first []*agent
	for _, m := range sharing {
		t := terminals[m.Name()]
		flags := agentFlags(key, t, a.peers(m, sharing, t.Share.Hub))
		if folder := os.Getenv(recordAgents); folder != "" {
			flags.Record = filepath.Join(folder, m.Name()+".json.gz")
		}
		flags.PHYFile, err = a.tellRadio(t)
		if err != nil {
			return err
		}
		args := append([]string{"share", "run"}, flags.Args()...)
		start := func() error { return a.start(program, m, agentName, args...) }
		if t.Share.Start > 0 {
			a.at(t.Share.Start, start)
		} else if err := start(); err != nil {
			return err
		} else {
			first = append(first, a.all[len(a.all)-1])
		}
		if t.Share.Stop > 0 {
			a.at(t.Share.Stop, func() error { return a.interrupt(m.Name()) })
		}
	}
	a.planSurveys()
	return awaitPeers(ctx, first)
}

// at plans a change of an agent during the run.
func (a *agents) at(t plan.Duration, do func() error) {
	a.events = append(a.events, event{time.Duration(t), func(context.Context) error { return do() }})
}

// makeKey creates a key. It replaces the key of an earlier attempt.
func makeKey(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return cellkey.Create(path, cellkey.New())
}

// peers returns the addresses to which an agent reports: the other agents, or its hub.
func (a *agents) peers(own machine.Machine, sharing machine.Set, hub string) (peers []string) {
	if hub != "" {
		return []string{a.machines.namespaces.Get(hub).Address().String()}
	}
	for _, m := range sharing {
		if m.Name() != own.Name() {
			peers = append(peers, m.Address().String())
		}
	}
	return peers
}

// recordAgents is the environment variable with a folder for the recorded steps of all agents.
const recordAgents = "AIRTIDE_RECORD_AGENTS"

// agentFlags are the flags of a terminal's agent.
func agentFlags(key string, t plan.TerminalSetup, peers []string) share.Flags {
	s := t.Share
	f := share.DefaultFlags()
	f.Key = key
	f.Policy = string(s.Policy)
	f.Peers = peers
	f.JSON = true
	f.MaxRate = units.Rate(s.MaxRate)
	f.Capacity = units.Rate(s.Capacity)
	f.SingleFrames = t.Radio.Aggregation.Frames == 1 // nl80211 would report it
	f.Disable = string(s.Disable)
	if s.Alpha != "" {
		f.Alpha = string(s.Alpha)
	}
	if s.Index > 0 {
		f.Index = s.Index
	}
	if s.Weight > 0 {
		f.Weight = s.Weight
	}
	return f
}

// start starts an agent or a hub.
func (a *agents) start(program string, m machine.Machine, kind string, args ...string) (err error) {
	fail := func(err error) error { return fmt.Errorf("starting the agent of %s: %w", m.Name(), err) }
	one := &agent{machine: m.Name(), file: kind + m.Name() + agentSuffix}
	one.stdout, err = machine.CreateOutput(filepath.Join(a.dir, one.file))
	if err != nil {
		return fail(err)
	}
	a.all = append(a.all, one)
	one.stderr, err = machine.CreateOutput(filepath.Join(a.dir, kind+m.Name()+".log"))
	if err != nil {
		return fail(err)
	}
	one.process, err = m.Start(machine.Command{
		Path: program, Args: args, Dir: a.dir, Stdout: one.stdout, Stderr: one.stderr,
	})
	return err
}

const (
	// agentPatience is the time for an agent to start, and to end.
	agentPatience = 20 * time.Second
	// agentLoading is the extra time for each further agent. Loading the BPF programs of one agent
	// takes about 1 s of processor time, and longer on a busy machine.
	agentLoading = 6 * time.Second
)

func patience(n int) time.Duration { return agentPatience + time.Duration(n)*agentLoading }

// awaitPeers waits until each agent knows all its peers.
func awaitPeers(ctx context.Context, all []*agent) error {
	ctx, cancel := context.WithTimeout(ctx, patience(len(all)))
	defer cancel()
	for _, one := range all {
		if err := one.awaitPeers(ctx, len(all)-1); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) awaitPeers(ctx context.Context, want int) error {
	for {
		known, err := a.peerCount()
		if err != nil || known >= want {
			return err
		}
		select {
		case <-a.process.Done():
			return fmt.Errorf("the agent of %s has ended: %s", a.machine, a.process.LastLine())
		case <-ctx.Done():
			if known < 0 {
				return fmt.Errorf("the agent of %s reports no status: %w", a.machine, ctx.Err())
			}
			return fmt.Errorf("the agent of %s knows %d of %d peers: %w", a.machine, known, want, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// peerCount returns the number of peers in the agent's last status; -1 before the first status.
func (a *agent) peerCount() (int, error) {
	line := a.stdout.LastLine()
	if line == "" {
		return -1, nil
	}
	var status struct {
		Peers []json.RawMessage `json:"peers"`
	}
	if err := json.Unmarshal([]byte(line), &status); err != nil {
		return 0, fmt.Errorf("reading the status of the agent of %s: %w", a.machine, err)
	}
	return len(status.Peers), nil
}

// interrupt asks the agent of a machine to end, without waiting for it.
func (a *agents) interrupt(name string) error {
	for _, one := range a.all {
		if one.file == agentName+name+agentSuffix {
			return one.interrupt()
		}
	}
	return fmt.Errorf("the agent of %s was never started", name)
}

// interrupt asks an agent to end, without waiting for it. If the agent has ended before, its
// terminal did not share, so this is an error.
func (a *agent) interrupt() error {
	if a.process == nil || a.stopping {
		return nil
	}
	select {
	case <-a.process.Done():
		return fmt.Errorf("the agent of %s ended during the run: %s", a.machine, a.process.LastLine())
	default:
		a.process.Signal(unix.SIGTERM)
		a.stopping = true
		return nil
	}
}

// Stop ends all agents at the same time, because each needs a second to restore the kernel.
func (a *agents) Stop() error {
	var errs []error
	for _, one := range a.all {
		errs = append(errs, one.interrupt())
	}
	deadline := time.Now().Add(patience(len(a.all)))
	for _, one := range a.all {
		errs = append(errs, one.await(time.Until(deadline)))
	}
	return errors.Join(errs...)
}

// await waits until an interrupted agent has ended.
func (a *agent) await(patience time.Duration) (err error) {
	defer func() {
		err = errors.Join(err, a.stdout.Close())
		if a.stderr != nil {
			err = errors.Join(err, a.stderr.Close())
		}
	}()
	if !a.stopping {
		return nil
	}
	switch err := a.process.Await(patience); {
	case errors.Is(err, machine.ErrKilled):
		return fmt.Errorf("the agent of %s did not end in time", a.machine)
	case err != nil:
		return fmt.Errorf("the agent of %s: %s", a.machine, a.process.LastLine())
	}
	return nil
}

// Files returns the output files of all agents and hubs.
func (a *agents) Files() (all []result.File) {
	for _, one := range a.all {
		all = append(all, result.File{Machine: one.machine, Name: one.file})
	}
	return all
}
