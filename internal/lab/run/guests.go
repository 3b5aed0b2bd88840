package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"airtide/internal/cell"
	"airtide/internal/kernel/timewarp"
	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/lab/workload"
	"airtide/internal/recording/record"
	"airtide/internal/vm"
)

// guest is a terminal's virtual machine in a run.
type guest struct {
	*vm.Guest
	name    string
	setup   *plan.GuestSetup
	console *os.File
	// recording is the file's name, once the machine is recorded.
	recording string
	recorded  record.Result
	// A moment of the run by its clock and by this machine's, at the start.
	atNs, hereNs int64
	// clock is how many times as fast as this machine's its clock ran during the run, as measured.
	clock float64
	// withinNs is by how much the moment at the start may be wrong, and clockWithin by which part clock may.
	withinNs    int64
	clockWithin float64
}

// clockError is by which part a clock may run wrong in a run that is used. An emulated processor's kernel finds its counter's frequency within
// 0.2 % at boot, and within a millionth some seconds later.
const clockError = 0.01

// ratio is how fast its clock is to run.
func (g *guest) ratio() float64 {
	if g == nil {
		return 1
	}
	return g.setup.Time.Ratio.Value()
}

// machine is nil for a terminal without.
func (g *guest) machine() *vm.Guest {
	if g == nil {
		return nil
	}
	return g.Guest
}

// file says what the file of a recording made in it is.
func (g *guest) file(zeroNs int64) result.File {
	return result.File{Machine: g.name, Name: g.recording, ZeroNs: g.atNs + int64(float64(zeroNs-g.hereNs)*g.clock), Clock: g.clock}
}

// guest of a machine, nil for one without.
func (a *attempt) guest(name string) *guest {
	i := slices.IndexFunc(a.guests, func(g *guest) bool { return g.name == name })
	if i < 0 {
		return nil
	}
	return a.guests[i]
}

// bootGuests boots the terminals that are virtual machines, all at once.
func (a *attempt) bootGuests(ctx context.Context) error {
	booting, ctx := errgroup.WithContext(ctx)
	for i := range a.setup.Terminals {
		t := &a.setup.Terminals[i]
		if t.Guest == nil {
			continue
		}
		host := slices.IndexFunc(a.cell.Hosts(), func(h cell.Host) bool { return h.Name == t.Name })
		g := &guest{name: t.Name, setup: t.Guest}
		a.guests = append(a.guests, g)
		booting.Go(func() error {
			if err := a.bootGuest(ctx, g, t, a.cell.Hosts()[host].Namespace); err != nil {
				return fmt.Errorf("terminal %s: %w", t.Name, err)
			}
			return nil
		})
	}
	return booting.Wait()
}

func (a *attempt) bootGuest(ctx context.Context, g *guest, t *plan.TerminalSetup, namespace string) (err error) {
	kernel, err := vm.Cached(string(g.setup.Kernel))
	if err != nil {
		return err
	}
	if g.console, err = os.Create(filepath.Join(a.dir, consoleFile(g.name))); err != nil {
		return fmt.Errorf("keeping what its kernel says: %w", err)
	}
	o := machine.GuestOptions{
		Namespace: namespace, Kernel: kernel, Modules: machine.CongestionModule(kernel, t.Stack.Congestion), Console: g.console,
	}
	for _, f := range a.setup.Flows {
		if f.From == t.Name {
			o.Tools = append(o.Tools, workload.Client(f.Flow.Protocol))
		}
	}
	if g.setup.Time.Ratio != "" {
		module, err := timewarp.FindModule(kernel.Release)
		if err != nil {
			return err
		}
		o.Files = map[string]string{guestModule: module}
	}
	g.Guest, err = machine.Boot(ctx, o)
	return err
}

func consoleFile(name string) string { return name + "-console.log" }

// warpGuests sets the clocks of the virtual machines, and notes what they say.
func (a *attempt) warpGuests(ctx context.Context) error {
	for _, g := range a.guests {
		if g.setup.Time.Ratio != "" {
			var lacks []string
			w := warp{string(g.setup.Time.Ratio), string(g.setup.Time.RTO), g.setup.Time.CUBIC == plan.RealTime}
			if err := g.Call(ctx, warpFunction, w, &lacks); err != nil {
				return fmt.Errorf("setting the clock of %s: %w", g.name, err)
			}
			if len(lacks) > 0 {
				return fmt.Errorf("the kernel of %s lacks something that its time needs: %s", g.name, lacks[0])
			}
		}
		var err error
		if g.atNs, g.hereNs, g.withinNs, err = readClock(ctx, g.Guest); err != nil {
			return err
		}
	}
	return nil
}

// clockTries is how often a clock is read, of which the reading counts that is known best.
const clockTries = 5

func readClock(ctx context.Context, g *vm.Guest) (atNs, hereNs, withinNs int64, err error) {
	best := time.Hour
	for range clockTries {
		at, here, within, err := g.Clock(ctx)
		if err != nil {
			return 0, 0, 0, err
		}
		if within < best {
			best, atNs, hereNs = within, at, here
		}
	}
	return atNs, hereNs, best.Nanoseconds(), nil
}

// measureClocks finds how fast the virtual machines' clocks ran since warpGuests, and notes it in the result.
func (a *attempt) measureClocks(ctx context.Context) error {
	for _, g := range a.guests {
		atNs, hereNs, withinNs, err := readClock(ctx, g.Guest)
		if err != nil {
			return err
		}
		took := float64(hereNs - g.hereNs)
		g.clock, g.clockWithin = float64(atNs-g.atNs)/took, float64(g.withinNs+withinNs)/took
		for i := range a.result.Machines {
			if m := &a.result.Machines[i]; m.Name == g.name {
				m.Clock = g.clock
			}
		}
		if problem := g.judgeClock(); problem != "" {
			a.result.Problems = append(a.result.Problems, problem)
		}
	}
	return nil
}

// recordGuest begins to record a virtual machine's TCP inside it.
func (a *attempt) recordGuest(ctx context.Context, g *guest) error {
	if err := g.Call(ctx, recordFunction, a.lab.Tool, nil); err != nil {
		return fmt.Errorf("recording TCP of %s: %w", g.name, err)
	}
	g.recording = "tcp-" + g.name + ".atr"
	return nil
}

// guestEnd is what a virtual machine may take to end its recording and hand it over.
const guestEnd = time.Minute

// endGuest fetches the recording and ends the virtual machine.
func (a *attempt) endGuest(g *guest) error {
	if g.Guest == nil {
		return a.keepConsole(g)
	}
	var err error
	if g.recording != "" {
		err = g.fetchRecording(filepath.Join(a.dir, g.recording))
	}
	g.Close()
	return errors.Join(err, a.keepConsole(g))
}

// keepConsole keeps the console's file where there is something in it. What the kernel complained of is a problem of the run.
func (a *attempt) keepConsole(g *guest) error {
	if g.console == nil {
		return nil
	}
	path := filepath.Join(a.dir, consoleFile(g.name))
	said, err := os.ReadFile(path)
	if err := errors.Join(err, g.console.Close()); err != nil {
		return fmt.Errorf("keeping what the kernel of %s said: %w", g.name, err)
	}
	if complaint := vm.FirstComplaint(string(said)); complaint != "" {
		a.result.Problems = append(a.result.Problems, fmt.Sprintf("the kernel of %s complained: %s", g.name, complaint))
	}
	if len(said) == 0 {
		return os.Remove(path)
	}
	return nil
}

// judgeClock says why a run may not be used in which the machine's clock ran otherwise than asked, "" where it did not.
func (g *guest) judgeClock() string {
	asked := g.ratio()
	if math.Abs(g.clock/asked-1) <= clockError+g.clockWithin {
		return ""
	}
	return fmt.Sprintf("the clock of %s ran %.4g times as fast as real time, and was to run %.4g times (known within %.2g %%)",
		g.name, g.clock, asked, 100*g.clockWithin)
}

func (g *guest) fetchRecording(path string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), guestEnd)
	defer cancel()
	if err := g.Call(ctx, stopFunction, nil, &g.recorded); err != nil {
		return fmt.Errorf("recording TCP of %s: %w", g.name, err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("recording TCP of %s: %w", g.name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return g.Fetch(ctx, guestRecording, f)
}
