package cause

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Situation is a cell, its traffic and the known cause.
type Situation struct {
	Name string `yaml:"name"`
	Seed uint64 `yaml:"seed"` // draws the parameters, and is the seed of the cell
	Kind Kind   `yaml:"kind"`
	// Limits are the right answers at the sender, as the diagnosis names them: one for each phase.
	// An answer may have alternatives, separated by a bar.
	Limits []string `yaml:"limits,flow"`
	// Receiver are the right answers at the receiver; empty if there is no expectation.
	Receiver []string `yaml:"receiver,flow,omitempty"`
	// Cell is the YAML of the cell, without its name. Terminal and server are client and server.
	Cell string `yaml:"cell"`
	// Setup are shell commands that run in the client's namespace before the traffic.
	Setup string `yaml:"setup,omitempty"`
	// Tune are flags of airtide tune, under which the client runs; none without.
	Tune []string `yaml:"tune,flow,omitempty"`
	// Background is a shell command that runs beside the traffic with the cell's environment.
	Background string `yaml:"background,omitempty"`
	// With are parts that are recorded on demand by both sources: radio.
	With []string `yaml:"with,flow,omitempty"`
	Plan Plan     `yaml:"plan"`
}

// Kind is the kind of a situation.
type Kind string

// The kinds.
const (
	Single  Kind = "single"  // one cause
	Healthy Kind = "healthy" // nothing is wrong: the path's capacity is reached
	Mixture Kind = "mixture" // several causes, of which one is tighter
	Change  Kind = "change"  // one cause after another
	Sweep   Kind = "sweep"   // a single cause whose strength is swept
)

// Programs are the paths of the built programs.
type Programs struct{ Airtide, Traffic string }

// Build builds both programs into a folder.
func Build(ctx context.Context, folder string) (Programs, error) {
	p := Programs{filepath.Join(folder, "airtide"), filepath.Join(folder, "traffic")}
	for path, pkg := range map[string]string{
		p.Airtide: "airtide/cmd/airtide",
		p.Traffic: "airtide/test/cause/traffic",
	} {
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
			return p, fmt.Errorf("building %s: %w\n%s", pkg, err, out)
		}
	}
	return p, nil
}

// Record runs the situation and records both ends into a file.
func (s *Situation) Record(ctx context.Context, p Programs, path string) error {
	folder, err := os.MkdirTemp("", "airtide-cause-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	cell := filepath.Join(folder, "cell.yaml")
	text := fmt.Sprintf("name: cause\nseed: %d\n%s", s.Seed, s.Cell)
	if err := os.WriteFile(cell, []byte(text), 0o600); err != nil {
		return err
	}
	run := exec.CommandContext(ctx, p.Airtide, "cell", "run", cell, "--json")
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	run.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	run.Stderr = &stderr
	out, err := run.StdoutPipe()
	if err != nil {
		return err
	}
	if err := run.Start(); err != nil {
		return err
	}
	defer func() {
		_ = run.Process.Signal(os.Interrupt)
		_ = run.Wait()
	}()
	var machines machines
	if err := json.NewDecoder(out).Decode(&machines); err != nil {
		return fmt.Errorf("starting the cell: %w\n%s", err, stderr.String())
	}
	if err := s.traffic(ctx, p, &machines, path); err != nil {
		return err
	}
	return late(ctx, p, machines.PID)
}

// ErrBusy tells that the machine was too busy for the cell: the recording does not show what it was
// made for. It may be made again, as the lab repeats such runs.
var ErrBusy = errors.New("the machine was too busy for the cell")

// late returns an error if the cell's engine was too late to trust the run.
func late(ctx context.Context, p Programs, pid int) error {
	status := exec.CommandContext(ctx, p.Airtide, "cell", "status", "--json", "--once", "--interval", "50ms",
		fmt.Sprint(pid))
	out, err := status.Output()
	if err != nil {
		return fmt.Errorf("cell status: %w", err)
	}
	if bytes.Contains(out, []byte(`"lag_exceeded":true`)) || bytes.Contains(out, []byte(`"lag_exceeded": true`)) {
		return ErrBusy
	}
	return nil
}

// beforeTraffic is the time from the announcement of a cell to the traffic, if the cell has a
// schedule, which counts from the announcement, or other traffic. Else the traffic begins when all
// recorders run.
const beforeTraffic = 4 * time.Second

// mostLate is the greatest lateness of the traffic at which a schedule still fits it.
const mostLate = 200 * time.Millisecond

// machines is the output of cell run --json.
type machines struct {
	PID   int
	Hosts []machine
}

type machine struct{ Name, Namespace, Address string }

func (m *machines) named(name string) machine {
	for _, h := range m.Hosts {
		if h.Name == name {
			return h
		}
	}
	return machine{}
}

// traffic runs server, recorder and client.
func (s *Situation) traffic(ctx context.Context, p Programs, m *machines, path string) error {
	announced := time.Now()
	client := m.named("client")
	server := m.named("server")
	plan, err := json.Marshal(&s.Plan)
	if err != nil {
		return err
	}
	in := func(m machine, args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", m.Namespace}, args...)...)
	}
	if s.Setup != "" {
		if out, err := in(client, "sh", "-ec", s.Setup).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", s.Setup, err, out)
		}
	}
	serve := in(server, p.Traffic, "server", string(plan))
	if err := startReady(serve); err != nil {
		return err
	}
	defer stop(serve)
	finish, err := startRecorders(ctx, p, path, m, s.With)
	if err != nil {
		return err
	}
	if s.Background != "" {
		background := exec.CommandContext(ctx, "sh", "-c", s.Background)
		background.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		background.Env = append(os.Environ(), "OTHER="+m.named("other").Namespace,
			"ADDRESS="+server.Address, "TRAFFIC="+p.Traffic)
		if err := background.Start(); err != nil {
			return errors.Join(err, finish())
		}
		defer func() {
			_ = syscall.Kill(-background.Process.Pid, syscall.SIGKILL)
			_ = background.Wait()
		}()
	}
	scheduled := strings.Contains(s.Cell, "schedule:")
	if scheduled || s.Background != "" {
		time.Sleep(time.Until(announced.Add(beforeTraffic)))
	}
	if late := time.Since(announced.Add(beforeTraffic)); late > mostLate && scheduled {
		return errors.Join(fmt.Errorf("the traffic begins %v late for the cell's schedule", late), finish())
	}
	drive := in(client, p.Traffic, "client", server.Address, string(plan))
	if len(s.Tune) > 0 {
		args := append([]string{"tune"}, s.Tune...)
		drive = exec.CommandContext(ctx, p.Airtide, append(append(args, "--"), drive.Args...)...)
	}
	out, err := drive.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("traffic: %w: %s", err, out)
	}
	time.Sleep(300 * time.Millisecond) // the last segments
	return errors.Join(err, finish())
}

// Suffixes of the files beside a recording of both ends.
const (
	PolledSuffix   = ".polled"      // a recording that polled the client
	ClientSuffix   = ".client.pcap" // captures of both ends
	ServerSuffix   = ".server.pcap"
	SituationsFile = ".yaml" // the situation
)

// Suffixes returns those of all files of a recording, the recording itself last.
func Suffixes() []string { return []string{PolledSuffix, ClientSuffix, ServerSuffix, ""} }

// startRecorders records both ends by BPF and by tcpdump, and the client by polling. finish ends
// the recordings.
func startRecorders(
	ctx context.Context, p Programs, path string, m *machines, with []string,
) (finish func() error, err error) {
	client := m.named("client").Namespace
	server := m.named("server").Namespace
	inside := func(namespace string, args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", namespace}, args...)...)
	}
	capture := func(namespace, suffix string) *exec.Cmd {
		return inside(namespace, "tcpdump", "-q", "-i", "any", "-s", "128", "-B", "4096", "-U", "-Z", "root", "-w",
			path+suffix, "tcp", "port", fmt.Sprint(Port))
	}
	more := []string{"--with", strings.Join(with, ",")}
	if len(with) == 0 {
		more = nil
	}
	recorders := map[string]*exec.Cmd{
		path: exec.CommandContext(ctx, p.Airtide, append([]string{
			"record", "-f", "--source", "bpf", "-o", path, "--netns", client, "--netns", server,
		}, more...)...),
		path + PolledSuffix: inside(client, append([]string{
			p.Airtide,
			"record", "-f", "--source", "diag", "-o", path + PolledSuffix, "--netns", client,
		}, more...)...),
		path + ClientSuffix: capture(client, ClientSuffix),
		path + ServerSuffix: capture(server, ServerSuffix),
	}
	finish = func() error {
		var all error
		for _, r := range recorders {
			if r.Process != nil {
				_ = r.Process.Signal(os.Interrupt)
				all = errors.Join(all, r.Wait())
			}
		}
		return all
	}
	for name, r := range recorders {
		_ = os.Remove(name)
		if err := r.Start(); err != nil {
			return nil, errors.Join(err, finish())
		}
	}
	for name, r := range recorders {
		if err := begun(ctx, name); err != nil {
			return nil, errors.Join(fmt.Errorf("%v: %w", r.Args, err), finish())
		}
	}
	return finish, nil
}

func startReady(cmd *exec.Cmd) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		stop(cmd)
		return fmt.Errorf("%v did not start: %w", cmd.Args, err)
	}
	return nil
}

// begun waits until the recorder has written the head of its file.
func begun(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("the recorder did not begin")
}

func stop(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
