package run

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"airtide/internal/cell"
	"airtide/internal/lab/machine"
	"airtide/internal/lab/measure"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/lab/setup"
	"airtide/internal/lab/workload"
)

// addFlows says what the flows' programs reported.
func (a *attempt) addFlows(results []workload.Result) {
	for i, w := range results {
		setup := &a.setup.Flows[i]
		f := result.Flow{
			Name: w.Flow, Group: setup.Group, From: w.From, To: w.To, Protocol: string(w.Protocol),
			Direction: string(setup.Flow.Direction), Port: w.Port, StartS: seconds(w.StartNs), StopS: seconds(w.EndNs), Error: w.Error,
		}
		for _, path := range w.Files {
			f.Output = append(f.Output, filepath.Base(path))
		}
		forward, reverse := reported(w.Forward), reported(w.Reverse)
		switch {
		case forward == nil:
			f.ReportedMbps = reverse
		default:
			f.ReportedMbps, f.ReportedReverseMbps = forward, reverse
		}
		for _, t := range []*workload.Traffic{w.Forward, w.Reverse} {
			if t != nil && w.Protocol == plan.UDP {
				f.Datagrams = addDatagrams(f.Datagrams, t)
			}
		}
		for _, t := range w.Transfers {
			f.Transfers = append(f.Transfers, result.Transfer{AtS: seconds(t.StartNs), TookS: seconds(t.DurationNs), Bytes: t.Bytes})
		}
		if w.Ping != nil {
			f.Pings = &result.Pings{Sent: w.Ping.Sent, Received: w.Ping.Received}
			for _, e := range w.Ping.RTTs {
				at := time.Duration(w.StartNs) + time.Duration(e.Sequence-1)*time.Duration(setup.Flow.Interval)
				f.Pings.RTTs = append(f.Pings.RTTs, result.Echo{AtS: at.Seconds(), Ms: float64(e.Ns) / 1e6})
			}
		}
		a.result.Flows = append(a.result.Flows, f)
	}
}

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

func reported(t *workload.Traffic) *float64 {
	if t == nil {
		return nil
	}
	mbps := t.RateBps / 1e6
	return &mbps
}

// addDatagrams puts the directions of a flow together.
func addDatagrams(d *result.Datagrams, t *workload.Traffic) *result.Datagrams {
	if d == nil {
		d = &result.Datagrams{}
	}
	d.Sent += t.DatagramsSent
	d.Lost += t.DatagramsLost
	d.OutOfOrder += t.DatagramsOutOfOrder
	d.JitterMs = max(d.JitterMs, float64(t.JitterNs)/1e6)
	return d
}

// readRecordings adds what the kernels' recordings say to what is measured.
func (a *attempt) readRecordings(m *measure.Run) error {
	r := a.result
	var inGuests []string
	for _, g := range a.guests {
		if g.recording == "" {
			continue
		}
		inGuests = append(inGuests, g.name)
		file := g.file(r.ZeroNs)
		r.Recordings = append(r.Recordings, file)
		if err := a.readRecording(m, file, lossWarning(&g.recorded), []string{g.name}); err != nil {
			return err
		}
	}
	if a.recording == nil {
		return nil
	}
	var machines []string
	for _, name := range a.setup.RecordTCP {
		if !slices.Contains(inGuests, name) {
			machines = append(machines, name)
			r.Recordings = append(r.Recordings, result.File{Machine: name, Name: recordingFile})
		}
	}
	return a.readRecording(m, result.File{Name: recordingFile}, lossWarning(a.recording.result), machines)
}

// readRecording adds what one recording says of some machines.
func (a *attempt) readRecording(m *measure.Run, file result.File, lost string, machines []string) error {
	r := a.result
	kernel, damage, err := measure.ReadKernel(filepath.Join(a.dir, file.Name), file.ClockFrom(r.ZeroNs),
		time.Duration(a.setup.Warmup), time.Duration(a.setup.Duration), measure.Senders(a.setup, r, machines...))
	if err != nil {
		return fmt.Errorf("reading the recording: %w", err)
	}
	if m.Kernel == nil {
		m.Kernel = map[string]measure.Kernel{}
	}
	maps.Copy(m.Kernel, kernel)
	for _, warning := range []string{lost, damage} {
		if warning != "" {
			r.Warnings = append(r.Warnings, warning)
		}
	}
	return nil
}

// describeMachine says what a machine runs with.
func (a *attempt) describeMachine(ctx context.Context, h cell.Host) (result.Machine, error) {
	m := result.Machine{Name: h.Name, Address: h.Address.String()}
	g := a.guest(h.Name)
	if g == nil {
		state, err := machine.Read(h.Namespace)
		m.Sysctls, m.Routes, a.computer = state.Sysctls, routes(state), state.Computer
		return m, err
	}
	i := slices.IndexFunc(a.setup.Terminals, func(t plan.TerminalSetup) bool { return t.Name == h.Name })
	lacking, err := machine.ApplyInGuest(ctx, g.Guest, a.setup.Terminals[i].Stack)
	if err != nil {
		return m, err
	}
	a.result.Warnings = append(a.result.Warnings, setup.Lacking(h.Name, lacking)...)
	state, err := machine.ReadGuest(ctx, g.Guest)
	m.Sysctls, m.Routes, m.Kernel, m.Accelerator = state.Sysctls, routes(state), g.Release, string(g.Accelerator)
	return m, err
}

func routes(s machine.State) []result.Route {
	var all []result.Route
	for _, r := range s.Routes {
		all = append(all, result.Route(r))
	}
	return all
}

// keepLog writes what the kernel has logged.
func (a *attempt) keepLog() error {
	lines, err := a.log.Lines()
	if err != nil || len(lines) == 0 {
		return err
	}
	a.result.KernelLog = "kernel.log"
	path := filepath.Join(a.dir, a.result.KernelLog)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return fmt.Errorf("keeping what the kernel logged: %w", err)
	}
	return nil
}

// describeSystem says where the runs are made. The tools are asked for their versions once.
func (l *lab) describeSystem(ctx context.Context) (*result.System, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.system != nil {
		return l.system, nil
	}
	versions, err := machine.Versions(ctx)
	if err != nil {
		return nil, err
	}
	kernel := versions["kernel"]
	delete(versions, "kernel")
	l.system = &result.System{
		Airtide: l.Tool, Kernel: kernel, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), CPUModel: processor(), Tools: versions,
	}
	return l.system, nil
}

// processor is the model of this machine's processors, as far as Linux says it.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
