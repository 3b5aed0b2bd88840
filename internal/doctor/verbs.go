package doctor

import "slices"

// Verb names a command of the program.
type Verb string

// The verbs of the program.
const (
	Doctor   Verb = "doctor"
	Monitor  Verb = "monitor"
	Record   Verb = "record"
	Info     Verb = "info"
	Diagnose Verb = "diagnose"
	Export   Verb = "export"
	Plot     Verb = "plot"
	Packets  Verb = "packets"
	Fairness Verb = "fairness"
	Cell     Verb = "cell"
	Lab      Verb = "lab"
	CC       Verb = "cc"
	Tune     Verb = "tune"
	Share    Verb = "share"
	Timewarp Verb = "timewarp"
)

// way is a method of a verb, such as BPF or inet_diag; "" means all methods.
type way string

const (
	bpf  way = "bpf"
	diag way = "diag"
)

// verb is a row of the table of verbs.
type verb struct {
	name Verb
	ways []wayOf
}

// wayOf is a way of a verb, with its disadvantage against the first way.
type wayOf struct {
	name way
	loss string
}

var observing = []wayOf{
	{bpf, ""},
	{
		diag,
		"polled by inet_diag instead of sampled at each ACK: no per-ACK values, and events are inferred from counters",
	},
}

// verbTable lists the verbs, the best way first. A new verb names itself in the checks' needs.
var verbTable = []verb{
	{name: Doctor},
	{name: Monitor, ways: observing},
	{name: Record, ways: observing},
	{name: Info},
	{name: Diagnose},
	{name: Export},
	{name: Plot},
	{name: Packets},
	{name: Fairness},
	{name: Cell},
	{name: Lab},
	{name: CC, ways: []wayOf{{bpf, ""}}},
	{name: Tune, ways: []wayOf{{bpf, ""}}},
	{name: Share, ways: []wayOf{{bpf, ""}}},
	{name: Timewarp},
}

// Level is the importance of a check for a verb.
type Level string

const (
	required Level = "required"
	optional Level = "optional"
)

// Need connects a check with a verb. Way is the way that needs it; "" means all ways.
type Need struct {
	Verb  Verb  `json:"verb"`
	Level Level `json:"level"`
	Way   way   `json:"way,omitempty"`
}

func need(level Level, by way, verbs ...Verb) []Need {
	var needs []Need
	for _, v := range verbs {
		needs = append(needs, Need{v, level, by})
	}
	return needs
}

// Verdict is the usability of a verb.
type Verdict string

// The verdicts.
const (
	Ready     Verdict = "ready"
	Degraded  Verdict = "degraded"
	CannotRun Verdict = "cannot_run"
)

// Lack is a failed check that a verb needs.
type Lack struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Level  Level  `json:"level"`
	Way    way    `json:"way,omitempty"`
	Loss   string `json:"loss"`
}

// VerbResult is the verdict on a verb. Way is the way that the verb will use; "" if the verb has
// only one way or cannot run.
type VerbResult struct {
	Verb    Verb    `json:"verb"`
	Verdict Verdict `json:"verdict"`
	Way     way     `json:"way,omitempty"`
	// Loss is the disadvantage of Way against the best way.
	Loss  string `json:"loss,omitempty"`
	Lacks []Lack `json:"lacks"`

	// idle marks a verb that needs nothing of the kernel. Its verdict does not describe the
	// machine.
	idle bool
}

// judge derives the verdict on a verb from the results of the checks.
func (v *verb) judge(results []Result) VerbResult {
	r := VerbResult{Verb: v.name, Verdict: Ready, Lacks: []Lack{}, idle: true}
	blocked := map[way]bool{} // ways that a required check excludes
	for _, check := range results {
		for _, n := range check.NeededBy {
			if n.Verb != v.name {
				continue
			}
			if n.Level == required {
				r.idle = false
			}
			if check.Status == OK {
				continue
			}
			r.Lacks = append(r.Lacks, Lack{check.Name, check.Status, n.Level, n.Way, check.lossNow()})
			if n.Level == required && !check.Status.works() {
				blocked[n.Way] = true
			}
		}
	}
	ways := v.ways
	if len(ways) == 0 {
		ways = []wayOf{{}}
	}
	chosen := slices.IndexFunc(ways, func(w wayOf) bool { return !blocked[""] && !blocked[w.name] })
	if chosen < 0 {
		r.Verdict = CannotRun
		r.Lacks = slices.DeleteFunc(r.Lacks, func(l Lack) bool { return l.Level == optional })
		return r
	}
	r.Way = ways[chosen].name
	r.Loss = ways[chosen].loss
	// Keep the lacks of the chosen way, and the required lacks that exclude a better way.
	r.Lacks = slices.DeleteFunc(r.Lacks, func(l Lack) bool {
		better := slices.ContainsFunc(ways[:chosen], func(w wayOf) bool { return w.name == l.Way })
		return l.Way != "" && l.Way != r.Way && !(better && l.Level == required)
	})
	if chosen > 0 || len(r.Lacks) > 0 {
		r.Verdict = Degraded
	}
	return r
}
