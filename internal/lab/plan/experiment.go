package plan

import (
	"fmt"
	"reflect"
	"slices"

	"airtide/internal/lab/document"
	"airtide/internal/units"
)

// The types of values in a file.
type (
	Rate     = units.Rate
	Duration = units.Duration
	Size     = units.Size
	Share    = units.Share
	Limit    = document.Limit
	Value    = document.Value
	Names    = document.Names

	// Named and Item are lists with names, in the order of the file.
	Named[T any] = document.Named[T]
	Item[T any]  = document.Item[T]
)

// Problems are all problems of a file.
type Problems = document.Problems

// Experiment is the content of a file at one point of its sweep. The point's values are set,
// profiles are applied, and missing fields have their defaults.
type Experiment struct {
	General
	Conditions
}

// General is the part of an experiment that is equal at all points of its sweep.
type General struct {
	Name      string             `json:"name" jsonschema:"Short name of the experiment, and of the folder of its results."`
	Title     string             `json:"title,omitzero" jsonschema:"Title in one line."`
	Source    string             `json:"source,omitzero" jsonschema:"Source that the experiment repeats, such as: Miki et al. 2010, figure 7."`
	Notes     string             `json:"notes,omitzero" jsonschema:"Notes for readers, such as choices that the source leaves open."`
	Repeats   int                `json:"repeats,omitzero" jsonschema:"Number of runs of each point. Default 1; claims need at least 2, better 5."`
	Seed      uint64             `json:"seed,omitzero" jsonschema:"Seed of all random numbers. Default 1."`
	Seeds     []uint64           `json:"seeds,omitzero" jsonschema:"One seed for each repeat, in place of repeats and seed."`
	SameSeeds bool               `json:"same_seeds,omitzero" jsonschema:"Whether all points of a repeat use the same random numbers, so that only the swept parameters differ. Default false: each run has its own."`
	AtOnce    int                `json:"at_once,omitzero" jsonschema:"Number of runs at a time, for runs that leave the processors idle. Default 1."`
	LagLimit  Duration           `json:"lag_limit,omitzero" jsonschema:"Limit of the 99th percentile by which packets leave the cell late, in a valid run. The limit of the 99.9th percentile is ten times as long. Default 2 ms."`
	Sweep     []Sweep            `json:"sweep,omitzero" jsonschema:"Parameters to vary. Each value of one entry is combined with each value of the others."`
	Measure   Named[Measurement] `json:"measure,omitzero" jsonschema:"The numbers taken from each run, by name."`
	Claims    Named[Claim]       `json:"claims,omitzero" jsonschema:"Expected relations, by name."`
	Figures   Named[Figure]      `json:"figures,omitzero" jsonschema:"Figures to draw, by name."`
}

// Conditions are the part of an experiment that a sweep can vary.
type Conditions struct {
	Duration           Duration                 `json:"duration,omitzero" jsonschema:"Time for which a run sends. Default 10 s."`
	Warmup             Duration                 `json:"warmup,omitzero" jsonschema:"Time at the start of a run that measurements leave out. Default 0."`
	Terminals          Named[Terminal]          `json:"terminals" jsonschema:"The devices under test, by name. A name may stand for a group of equal devices."`
	Servers            Named[Server]            `json:"servers,omitzero" jsonschema:"The machines behind the path, by name."`
	CongestionControls Named[CongestionControl] `json:"congestion_controls,omitzero" jsonschema:"Congestion controls of airtide with parameters, by the names that congestion may then use. Without parameters, use the name of the kind."`
	Cell               Cell                     `json:"cell,omitzero" jsonschema:"The access point, the medium, and settings of the engine."`
	Path               Path                     `json:"path,omitzero" jsonschema:"The wired path between access point and servers."`
	Flows              Named[Flow]              `json:"flows" jsonschema:"The traffic, by name." missing:"airtide cell check accepts a cell without flows"`
	Record             Record                   `json:"record,omitzero" jsonschema:"Recordings besides the output of the tools."`
}

// notSwept are the fields that no sweep can set.
var notSwept = document.FieldNames(reflect.TypeFor[General]())

// Record selects the recordings of a run.
type Record struct {
	TCP      Names    `json:"tcp,omitzero" jsonschema:"Machines whose kernel is recorded per ACK: names, all, or terminals."`
	Radio    bool     `json:"radio,omitzero" jsonschema:"Adds rates, retries and airtime of the terminals' radios to the recordings of TCP, each 100 ms."`
	Packets  Names    `json:"packets,omitzero" jsonschema:"Machines whose packets are captured: names, all, or terminals."`
	Interval Duration `json:"interval,omitzero" jsonschema:"Interval of the time series of the cell's counters. Default 100 ms."`
}

// Defaults of optional values.
const (
	defaultDuration = Duration(10e9)
	defaultInterval = Duration(100e6)
	defaultQueue    = 1000
	defaultWire     = Rate(1e9)
	defaultRetries  = 7
)

// orDefault sets a value that the file lacks.
func orDefault[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

func (g *General) setDefaults() {
	orDefault(&g.Seed, 1)
	orDefault(&g.Repeats, max(1, len(g.Seeds)))
	for i := range g.Measure {
		orDefault(&g.Measure[i].Value.Take, Mean)
	}
}

func (c *Conditions) setDefaults() {
	orDefault(&c.Duration, defaultDuration)
	orDefault(&c.Cell.AP.Discipline, FIFO)
	orDefault(&c.Cell.AP.Queue, Limit{Packets: defaultQueue})
	orDefault(&c.Cell.RetryLimit, defaultRetries)
	orDefault(&c.Path.Rate, defaultWire)
	orDefault(&c.Path.Queue, Limit{Packets: defaultQueue})
	orDefault(&c.Record.Interval, defaultInterval)
	for i := range c.Terminals {
		t := &c.Terminals[i].Value
		orDefault(&t.Link, WLAN)
		if t.Link == WLAN {
			orDefault(&t.Radio.Queue, Limit{Packets: defaultQueue})
		}
	}
	for i := range c.Flows {
		c.Flows[i].Value.setDefaults(c.Duration)
	}
}

// check checks the part that is equal at all points.
func (e *General) check(c *checker) {
	e.checkNumbers(c)
	for _, f := range e.Figures {
		f.Value.check(c, "figures."+f.Name)
	}
}

// check checks the conditions of a point, and what measurements and figures need of them.
func (e *Experiment) check(c *checker) {
	e.checkTimes(c)
	e.checkNames(c)
	for _, cc := range e.CongestionControls {
		cc.Value.check(c, cc.Name)
	}
	for _, t := range e.Terminals {
		t.Value.check(c, "terminals."+t.Name)
	}
	for _, s := range e.Servers {
		s.Value.Stack.check(c, "servers."+s.Name)
	}
	e.Cell.check(c)
	e.Path.check(c)
	for _, f := range e.Flows {
		f.Value.check(c, "flows."+f.Name)
	}
	c.references("record.tcp", e.Record.TCP)
	c.references("record.packets", e.Record.Packets)
	if e.Record.Radio && len(e.Record.TCP) == 0 {
		c.problem("record.radio", "no recording of TCP", "record.tcp, whose recordings get the radio's data")
	}
	for _, m := range e.Measure {
		m.Value.check(c, "measure."+m.Name)
	}
	for _, f := range e.Figures {
		f.Value.checkFlows(c, "figures."+f.Name)
	}
}

func (e *General) checkNumbers(c *checker) {
	if !experimentName.MatchString(e.Name) {
		c.problem("name", c.found("name"), "up to 64 of a-z, 0-9, '.', '_' and '-', the first a letter or digit")
	}
	if e.Repeats < 1 || e.Repeats > maxRepeats {
		c.problem("repeats", c.found("repeats"), fmt.Sprintf("1 to %d", maxRepeats))
	}
	if e.AtOnce < 0 || e.AtOnce > MaxAtOnce {
		c.problem("at_once", c.found("at_once"), fmt.Sprintf("1 to %d", MaxAtOnce))
	}
	if len(e.Seeds) > 0 && (c.has("repeats") || c.has("seed")) {
		c.problem("seeds", "seeds besides repeats or seed", "either of them")
	}
	for i, s := range e.Seeds {
		if slices.Contains(e.Seeds[:i], s) {
			c.problem(fmt.Sprintf("seeds.%d", i), fmt.Sprintf("the seed %d a second time", s), "each once")
		}
	}
}

func (e *Conditions) checkTimes(c *checker) {
	if e.Duration < minDuration {
		c.problem("duration", e.Duration.String(), fmt.Sprintf("at least %s", minDuration))
	}
	if e.Warmup >= e.Duration {
		c.problem("warmup", e.Warmup.String(), fmt.Sprintf("less than the duration, %s", e.Duration))
	}
}

// checkNames checks that machines have unique names, and flows too.
func (e *Conditions) checkNames(c *checker) {
	if len(e.Terminals) == 0 {
		c.problem("terminals", "no terminal", "one at least")
	}
	if len(e.Flows) == 0 && !c.cellAlone {
		c.problem("flows", "no flow", "one at least")
	}
	if len(c.machines.terminals) > maxTerminals {
		c.problem("terminals", fmt.Sprintf("more than %d terminals", maxTerminals), "fewer")
	}
	owner := map[string]string{allTerminals: "the word for all terminals", allMachines: "the word for all machines"}
	claim := func(path, name, what string) {
		if o, taken := owner[name]; taken {
			c.problem(path, fmt.Sprintf("the name %q, which is %s", name, o), "unique names")
		}
		owner[name] = what
	}
	for _, name := range slices.Concat(e.Terminals.Names(), e.Servers.Names()) {
		if len(name) > maxMachineName {
			c.problem("terminals", fmt.Sprintf("a machine named %q", name),
				fmt.Sprintf("at most %d letters: network interfaces are named after it", maxMachineName))
		}
	}
	for _, t := range e.Terminals {
		path := "terminals." + t.Name
		if t.Value.Count < 0 || t.Value.Count == 0 && c.has(path+".count") {
			c.problem(path+".count", c.found(path+".count"), "1 or more")
			continue
		}
		claim(path, t.Name, "a terminal or group")
		for _, m := range members(t.Name, t.Value) {
			if m != t.Name {
				claim(path, m, "a terminal of "+t.Name)
			}
		}
	}
	for _, s := range e.Servers {
		claim("servers."+s.Name, s.Name, "a server")
	}
}
