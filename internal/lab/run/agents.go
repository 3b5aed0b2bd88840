package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/cell"
	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
	"airtide/internal/share/cellkey"
)

// agent is one terminal's agent, airtide share run, with what it says of itself in a file.
type agent struct {
	machine string
	file    string
	process *machine.Process
	stdout  *os.File
	stderr  *os.File
	ending  bool // it was asked to end
}

const (
	keyFile     = "cell.key"
	agentName   = "share-" // and the machine
	agentSuffix = ".jsonl"
)

// startAgents starts an agent on each terminal that shares, all with one key and each with the addresses of the others, since the cell
// carries no multicast, or of its hub; and waits until all know each other, as they do in a cell that was there before. What is to
// happen to them in mid-run, an agent's start among it, is left to changeAgents.
func (a *attempt) startAgents(ctx context.Context) error {
	sharing := map[string]plan.TerminalSetup{}
	for _, t := range a.setup.Terminals {
		if t.Share.Agent() {
			sharing[t.Name] = t
		}
	}
	if len(sharing) == 0 {
		return nil
	}
	key := filepath.Join(a.dir, keyFile)
	if err := os.Remove(key); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("making the cell's key: %w", err)
	}
	if err := cellkey.Create(key, cellkey.New()); err != nil {
		return fmt.Errorf("making the cell's key: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program, for the agents: %w", err)
	}
	var hosts []cell.Host
	for _, h := range a.cell.Hosts() {
		if _, shares := sharing[h.Name]; shares {
			hosts = append(hosts, h)
		}
	}
	hubs := map[string]cell.Host{}
	for _, h := range a.cell.Hosts() {
		if !slices.ContainsFunc(hosts, func(t cell.Host) bool { return sharing[t.Name].Share.Hub == h.Name }) {
			continue
		}
		hubs[h.Name] = h
		if err := a.startAgent(program, h, "hub-"+h.Name, "share", "hub", "--key", key, "--json"); err != nil {
			return err
		}
	}
	first := len(a.agents)
	for _, h := range hosts {
		t := sharing[h.Name]
		args := agentArguments(key, h, hosts, hubs, t)
		if t.Share.KnowsPHY {
			file := a.phyFile(t.Name)
			if err := tellPHY(file, t.Radio.PHY[0]); err != nil {
				return err
			}
			args = append(args, "--phy-file", file)
		}
		start := func() error { return a.startAgent(program, h, agentName+h.Name, args...) }
		if t.Share.Start > 0 {
			a.changes = append(a.changes, change{t.Share.Start, start})
		} else if err := start(); err != nil {
			return err
		}
		if t.Share.Stop > 0 {
			a.changes = append(a.changes, change{t.Share.Stop, func() error { return a.stopAgent(h.Name) }})
		}
		a.addPHYChanges(t)
	}
	agents := a.agents[first:]
	ctx, cancel := context.WithTimeout(ctx, agentPatience+time.Duration(len(agents))*agentLoading)
	defer cancel()
	for _, one := range agents {
		if err := one.knows(ctx, len(agents)-1); err != nil {
			return err
		}
	}
	return nil
}

// agentArguments are those of a terminal's agent, whose peers are the others or a hub.
func agentArguments(key string, host cell.Host, all []cell.Host, hubs map[string]cell.Host, t plan.TerminalSetup) []string {
	s := t.Share
	args := []string{"share", "run", "--key", key, "--policy", string(s.Policy), "--json"}
	if s.Hub != "" {
		args = append(args, "--peer", hubs[s.Hub].Address.String())
	}
	for _, h := range all {
		if s.Hub == "" && h.Name != host.Name {
			args = append(args, "--peer", h.Address.String())
		}
	}
	if s.MaxRate > 0 {
		args = append(args, "--max-rate", fmt.Sprintf("%dbit", s.MaxRate))
	}
	if t.Radio.Aggregation.Frames == 1 { // nl80211 would tell it
		args = append(args, "--single-frames")
	}
	if s.Capacity > 0 {
		args = append(args, "--capacity", fmt.Sprintf("%dbit", s.Capacity))
	}
	if s.Alpha != "" {
		args = append(args, "--alpha", string(s.Alpha))
	}
	if s.Weight > 0 {
		args = append(args, "--weight", strconv.FormatFloat(s.Weight, 'g', -1, 64))
	}
	return args
}

// startAgent starts an agent, or a hub, whose output is kept under a name.
func (a *attempt) startAgent(program string, host cell.Host, name string, args ...string) error {
	one := &agent{machine: host.Name, file: name + agentSuffix}
	var err error
	if one.stdout, err = os.Create(filepath.Join(a.dir, one.file)); err != nil {
		return fmt.Errorf("starting the agent of %s: %w", host.Name, err)
	}
	a.agents = append(a.agents, one)
	if one.stderr, err = os.Create(filepath.Join(a.dir, name+".log")); err != nil {
		return fmt.Errorf("starting the agent of %s: %w", host.Name, err)
	}
	one.process, err = machine.Start(machine.Command{
		Namespace: host.Namespace, Path: program, Args: args, Dir: a.dir, Stdout: one.stdout, Stderr: one.stderr,
	})
	return err
}

const (
	// agentPatience is how long an agent may take to start, and to end.
	agentPatience = 20 * time.Second
	// agentLoading is what each agent that starts, or ends, beside it may add: it loads its programs for a second of a processor, of which
	// a busy machine gives it a part.
	agentLoading = 6 * time.Second
)

// knows waits until the agent knows so many others.
func (a *agent) knows(ctx context.Context, others int) error {
	for {
		known, err := a.known()
		if err != nil || known >= others {
			return err
		}
		select {
		case <-a.process.Done():
			return fmt.Errorf("the agent of %s has ended: %s", a.machine, a.complaint())
		case <-ctx.Done():
			if known < 0 {
				return fmt.Errorf("the agent of %s says nothing: %w", a.machine, ctx.Err())
			}
			return fmt.Errorf("the agent of %s knows %d of %d others: %w", a.machine, known, others, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// known is how many others the agent has said last that it knows, -1 before it has said anything.
func (a *agent) known() (int, error) {
	line, err := lastLine(a.stdout.Name())
	if err != nil {
		return 0, fmt.Errorf("reading what the agent of %s says: %w", a.machine, err)
	}
	if line == nil {
		return -1, nil
	}
	var status struct {
		Peers []json.RawMessage `json:"peers"`
	}
	if err := json.Unmarshal(line, &status); err != nil {
		return 0, fmt.Errorf("reading what the agent of %s says: %w", a.machine, err)
	}
	return len(status.Peers), nil
}

// lastLine is the last whole line of a file that grows; nil while there is none. Not all of the file is read: agents of a crowd say some megabytes
// while the others load.
func lastLine(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	end, err := f.Seek(0, io.SeekEnd)
	for size := int64(1 << 14); err == nil; size *= 4 {
		from := max(end-size, 0)
		text := make([]byte, end-from)
		if _, err = f.ReadAt(text, from); err != nil {
			break
		}
		whole := bytes.LastIndexByte(text, '\n')
		begin := bytes.LastIndexByte(text[:max(whole, 0)], '\n') + 1
		switch {
		case whole >= 0 && (begin > 0 || from == 0):
			return text[begin:whole], nil
		case from == 0:
			return nil, nil
		}
	}
	return nil, err
}

// complaint is the last line of what it said.
func (a *agent) complaint() string {
	text, err := os.ReadFile(a.stderr.Name())
	if lines := strings.Split(strings.TrimSpace(string(text)), "\n"); err == nil && lines[len(lines)-1] != "" {
		return lines[len(lines)-1]
	}
	return fmt.Sprint(a.process.Err())
}

// endAgents ends all of them together: each takes a second to give back what it holds.
func (a *attempt) endAgents() error {
	var errs []error
	for _, one := range a.agents {
		errs = append(errs, one.stop())
	}
	patience := time.Now().Add(agentPatience + time.Duration(len(a.agents))*agentLoading)
	for _, one := range a.agents {
		errs = append(errs, one.await(patience))
	}
	return errors.Join(errs...)
}

// stop asks the agent to end. One that has ended before, without being asked, is an error: its terminal did not share.
func (a *agent) stop() error {
	if a.process == nil || a.ending {
		return nil
	}
	select {
	case <-a.process.Done():
		return fmt.Errorf("the agent of %s has ended in mid-run: %s", a.machine, a.complaint())
	default:
		a.process.Signal(unix.SIGTERM)
		a.ending = true
		return nil
	}
}

// await waits for the end of an agent that was asked to, until a time.
func (a *agent) await(patience time.Time) (err error) {
	defer func() { err = errors.Join(err, a.stdout.Close(), a.closeLog()) }()
	if !a.ending {
		return nil
	}
	select {
	case <-a.process.Done():
	case <-time.After(time.Until(patience)):
		a.process.Kill()
		return fmt.Errorf("the agent of %s did not end in time", a.machine)
	}
	if a.process.Err() != nil {
		return fmt.Errorf("the agent of %s: %s", a.machine, a.complaint())
	}
	return nil
}

func (a *agent) closeLog() error {
	if a.stderr == nil {
		return nil
	}
	return a.stderr.Close()
}
