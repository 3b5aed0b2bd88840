package result

import (
	"math"
	"slices"
	"time"

	"airtide/internal/cell"
	"airtide/internal/kernel/congestion/kind"
	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
)

// Version is the version of the format of result.json. It increases if a reader of the previous
// version would misread a file. Additional fields do not increase it.
const Version = 1

// Result is the content of a run's result.json. File names are relative to the run's folder.
type Result struct {
	Version    int        `json:"version" jsonschema:"Version of this format."`
	Experiment Experiment `json:"experiment"`
	Run        string     `json:"run" jsonschema:"The run's id, and the name of its folder."`
	Point      string     `json:"point" jsonschema:"The id of the sweep's point; empty without a sweep."`
	// Settings has the value of each swept parameter.
	Settings map[string]judge.Param `json:"settings" jsonschema:"The value of each swept parameter at the point."`
	Repeat   int                    `json:"repeat" jsonschema:"Number of the repeat, counted from 1."`
	Seed     uint64                 `json:"seed" jsonschema:"Seed of all random numbers of the run."`
	Attempt  int                    `json:"attempt" jsonschema:"Number of the attempt, counted from 1. Earlier attempts failed or were not valid."`

	Started time.Time `json:"started" jsonschema:"Time zero of the run, by the wall clock."`
	Ended   time.Time `json:"ended" jsonschema:"Time at which everything was removed, by the wall clock."`
	// ZeroNs is the time zero of recordings.
	ZeroNs int64 `json:"zero_ns,omitempty" jsonschema:"Time zero of the run by CLOCK_MONOTONIC, the clock of recordings."`
	// DurationS and WarmupS are the planned times. Measurements cover the time between warm-up and
	// end.
	DurationS float64 `json:"duration_s" jsonschema:"Time for which the run sent."`
	WarmupS   float64 `json:"warmup_s" jsonschema:"Time at the start that measurements leave out."`

	// Valid reports whether the measurements may be used. Problems are the reasons why not.
	// Warnings are notes for a reader.
	Valid    bool     `json:"valid" jsonschema:"Whether the measurements are valid."`
	Problems []string `json:"problems,omitempty" jsonschema:"Why the measurements are not valid."`
	Warnings []string `json:"warnings,omitempty" jsonschema:"Further warnings."`

	System   System    `json:"system"`
	Machines []Machine `json:"machines" jsonschema:"Terminals and servers."`
	// CongestionControls are the congestion controls loaded for the run.
	CongestionControls []CongestionControl `json:"congestion_controls,omitempty" jsonschema:"Congestion controls of airtide that were loaded for the run."`
	Flows              []Flow              `json:"flows" jsonschema:"The traffic, in the order of the plan."`

	// Cell is nil if nothing was measured.
	Cell *cell.Window `json:"cell,omitempty" jsonschema:"The cell's and the path's counters from warm-up to the end."`
	// Series is the name of a file with consecutive windows; see ReadSeries.
	Series string `json:"series,omitempty" jsonschema:"File with the same counters for each interval, one JSON object per line."`
	// Engine has the lag of packets in the engine. If the lag exceeds its limit, the run is
	// invalid.
	Engine *cell.EngineStatus `json:"engine,omitempty" jsonschema:"State of the engine over the whole run: lag, wake-ups, processor time."`

	// StolenPercent distinguishes a slow host from a slow emulator.
	StolenPercent float64 `json:"stolen_percent" jsonschema:"Share of processor time that the host of this virtual machine gave to others during the run."`

	Recordings []File `json:"recordings,omitempty" jsonschema:"The kernel's TCP state per ACK, by machine."`
	Captures   []File `json:"captures,omitempty" jsonschema:"Packets, by machine."`
	Sharing    []File `json:"sharing,omitempty" jsonschema:"Status of the sharing agents each second, by machine."`
	KernelLog  string `json:"kernel_log,omitempty" jsonschema:"File with the kernel's log during the run; absent if it logged nothing."`

	Measurements map[string]Measurement `json:"measurements" jsonschema:"The experiment's measurements, by name."`
}

// Experiment identifies the experiment of the run.
type Experiment struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256" jsonschema:"SHA-256 of the experiment's file, in hexadecimal."`
}

// System describes the computer of the run.
type System struct {
	Airtide  string `json:"airtide" jsonschema:"Version of airtide."`
	Kernel   string `json:"kernel" jsonschema:"Release and version of the kernel, as uname prints them."`
	Arch     string `json:"arch"`
	CPUs     int    `json:"cpus" jsonschema:"Number of usable processors."`
	CPUModel string `json:"cpu_model,omitempty"`
	// Tools has the first line of each tool's version output.
	Tools map[string]string `json:"tools,omitempty" jsonschema:"Versions of the programs that ran, by name."`
	// Sysctls are the settings in machine.State that belong to the whole computer.
	Sysctls map[string]string `json:"sysctls,omitempty" jsonschema:"Sysctls of net.ipv4 and net.core that hold for all machines except virtual ones, such as net.ipv4.tcp_mem."`
}

// Machine describes a terminal or a server during the run.
type Machine struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
	// Sysctls are the values that were read back after setting them.
	Sysctls map[string]string `json:"sysctls,omitempty" jsonschema:"Sysctls of the network namespace, read back after they were set."`
	Routes  []Route           `json:"routes,omitempty" jsonschema:"Routes to other machines at the start of the run."`
	// Kernel and Accelerator describe a virtual machine.
	Kernel      string  `json:"kernel,omitempty" jsonschema:"Kernel release of a virtual machine."`
	Accelerator string  `json:"accelerator,omitempty" jsonschema:"Accelerator of the virtual machine: kvm, or tcg (emulation)."`
	Clock       float64 `json:"clock,omitempty" jsonschema:"Measured speed of a virtual machine's clock relative to real time."`
	// Counters has the counters that timewarp.Kinds names.
	Counters map[string]uint64 `json:"counters,omitempty" jsonschema:"Growth of TCP counters from the warm-up to the end, by their names in /proc/net/snmp and netstat."`
}

// Route is a route of a machine. Absent attributes have the kernel's default.
type Route struct {
	To             string `json:"to" jsonschema:"Destination: a prefix, or default."`
	Via            string `json:"via,omitempty"`
	Device         string `json:"device"`
	MTU            int    `json:"mtu,omitempty"`
	InitialWindow  int    `json:"initial_window_segments,omitempty"`
	InitialReceive int    `json:"initial_receive_window_segments,omitempty"`
	Congestion     string `json:"congestion,omitempty"`
}

// CongestionControl is a congestion control of airtide that was loaded for the run.
type CongestionControl struct {
	Name       string          `json:"name" jsonschema:"As in the experiment's file."`
	Kind       kind.Kind       `json:"kind"`
	LoadedAs   string          `json:"loaded_as" jsonschema:"Name in the kernel during the run."`
	Parameters kind.Parameters `json:"parameters"`
	Bounds     kind.Bounds     `json:"bounds,omitzero" jsonschema:"Bounds of the window in packets, for all sockets of a cubic_bound."`
}

// File is a file of a machine.
type File struct {
	Machine string `json:"machine"`
	Name    string `json:"name"`
	// ZeroNs and Clock are set if the recording uses the clock of a virtual machine.
	ZeroNs int64   `json:"zero_ns,omitempty" jsonschema:"Time zero of the run by the clock of the recording, if that is another clock than the run's."`
	Clock  float64 `json:"clock,omitempty" jsonschema:"Speed of that clock relative to real time."`
}

// Clock is the clock of a recording.
type Clock struct {
	// ZeroNs is time zero of the run.
	ZeroNs int64
	// Ratio is the speed of the clock in units of real time.
	Ratio float64
}

// ClockFrom returns the clock of a recording in a run with a time zero.
func (f File) ClockFrom(zeroNs int64) Clock {
	if f.Clock == 0 {
		return Clock{zeroNs, 1}
	}
	return Clock{f.ZeroNs, f.Clock}
}

// At converts a time since time zero to the clock's time in ns.
func (c Clock) At(t time.Duration) int64 { return c.ZeroNs + int64(float64(t)*c.Ratio) }

// Since converts a time of the clock to real time since time zero.
func (c Clock) Since(ns int64) time.Duration { return time.Duration(float64(ns-c.ZeroNs) / c.Ratio) }

// New returns the result of a run before its start. It contains the data of the plan.
func New(p *plan.Plan, run plan.Run) *Result {
	point := &p.Points[run.Point]
	return &Result{
		Version: Version, Experiment: Experiment{Name: p.Experiment.Name}, Run: run.ID, Point: point.ID,
		Settings: point.Params(),
		Repeat:   run.Repeat, Seed: run.Seed,
		DurationS: seconds(point.Setup.Duration), WarmupS: seconds(point.Setup.Warmup),
		Measurements: map[string]Measurement{},
	}
}

func seconds(d plan.Duration) float64 { return time.Duration(d).Seconds() }

// Judged returns the run as input of claims. It leaves out a measurement with a missing value,
// because sums and indices of the other values would be wrong.
func (r *Result) Judged() judge.Run {
	run := judge.Run{Point: r.Settings, Values: map[string][]float64{}}
	for name, m := range r.Measurements {
		if !slices.ContainsFunc(m.Values, math.IsNaN) {
			run.Values[name] = m.Values
		}
	}
	return run
}
