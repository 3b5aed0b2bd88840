package plan

import (
	"errors"
	"slices"

	"airtide/internal/lab/document"
	"airtide/internal/share/allocate"
	"airtide/internal/share/control"
	"airtide/internal/share/message"
	"airtide/internal/units"
)

// Sharing configures a terminal's sharing of the access point.
type Sharing struct {
	Policy    SharePolicy `json:"policy,omitzero" jsonschema:"none (default), or an agent (airtide share run) with the policy shares, equal-cap, equal-range or observe."`
	MaxRate   Rate        `json:"max_rate,omitzero" jsonschema:"Standalone rate of the terminal. Default: that of its radio, or unknown."`
	KnowsPHY  bool        `json:"knows_phy,omitzero" jsonschema:"Whether the agent knows its PHY rate, as nl80211 reports it on Wi-Fi; max_rate takes precedence. Default false."`
	KnowsBusy bool        `json:"knows_busy,omitzero" jsonschema:"Whether the agent knows, each second, how busy the channel was, as many drivers report it. Default false."`
	Alpha     Alpha       `json:"alpha,omitzero" jsonschema:"Fairness, the same on all terminals that share: 0 maximises the total, 1 is proportional fairness, inf is max-min fairness. Default: index decides."`
	Index     float64     `json:"index,omitzero" jsonschema:"Fairness that the greatest total must keep, the same on all terminals that share: Jain's index of rates as parts of standalone rates, 0.5 to 1. Default 0.99."`
	Weight    float64     `json:"weight,omitzero" jsonschema:"Weight of the terminal, 0.1 to 10. Default 1."`
	Capacity  Rate        `json:"capacity,omitzero" jsonschema:"Rate that the policies equal-cap and equal-range divide."`
	Disable   RuleNames   `json:"disable,omitzero" jsonschema:"Rules of the control to switch off, separated by commas, to measure their effect."`
	Start     Duration    `json:"start,omitzero" jsonschema:"Time from the start of the run at which the agent starts; loading takes a second or two. Default: before the run, so that all agents know each other."`
	Stop      Duration    `json:"stop,omitzero" jsonschema:"Time from the start of the run at which the agent ends and lifts its bounds. Default: after the run."`
	Hub       string      `json:"hub,omitzero" jsonschema:"Server that runs a hub (airtide share hub), which relays reports. Default: the terminals send to each other."`
}

// SharePolicy is a policy of package internal/share/control, or NoShare.
type SharePolicy string

// NoShare means a terminal without an agent.
const NoShare SharePolicy = "none"

func (*SharePolicy) Choices() []string {
	names := []string{string(NoShare)}
	for _, p := range control.Policies {
		names = append(names, string(p))
	}
	return names
}

// Agent reports whether the terminal runs a sharing agent.
func (s Sharing) Agent() bool { return s.Policy != "" && s.Policy != NoShare }

// Alpha is the parameter of alpha-fairness as written in the file: a number, or inf.
type Alpha string

// UnmarshalText reads inf or a number of at least 0, and keeps its spelling.
func (a *Alpha) UnmarshalText(text []byte) error {
	_, err := allocate.ParseAlpha(string(text))
	if bad, ok := errors.AsType[*units.SyntaxError](err); ok {
		return errors.New(bad.Want())
	}
	*a = Alpha(text)
	return err
}

// RuleNames are names of rules of package internal/share/control, separated by commas.
type RuleNames string

// UnmarshalText reads the names of rules.
func (r *RuleNames) UnmarshalText(text []byte) error {
	if _, err := control.ParseRules(string(text)); err != nil {
		return errors.New("names of rules, such as whole-ampdus,idle-greedy")
	}
	*r = RuleNames(text)
	return nil
}

// Value returns the number. The default is the value of proportional fairness.
func (a Alpha) Value() float64 {
	v, err := allocate.ParseAlpha(string(a))
	if err != nil {
		return allocate.Proportional
	}
	return v
}

func (s Sharing) check(c *checker, path string) {
	if control.Policy(s.Policy).DividesCapacity() && s.Capacity == 0 {
		c.problem(path, string(s.Policy)+" without a capacity", "capacity, such as 100 Mbit/s")
	}
	if s.Weight != 0 && (s.Weight < message.LowestWeight/1000.0 || s.Weight > message.HighestWeight/1000.0) {
		c.problem(path+".weight", c.found(path+".weight"), "0.1 to 10")
	}
	if s.Index != 0 && (s.Index < control.LeastIndex || s.Index > 1) {
		c.problem(path+".index", c.found(path+".index"), "0.5 to 1")
	}
	for name, at := range map[string]Duration{".start": s.Start, ".stop": s.Stop} {
		if at >= c.e.Duration && at > 0 {
			c.problem(path+name, at.String(), "less than the duration, "+c.e.Duration.String())
		}
	}
	if s.Stop > 0 && s.Stop <= s.Start {
		c.problem(path+".stop", s.Stop.String(), "a time after the start, "+s.Start.String())
	}
	for _, t := range c.e.Terminals {
		other := t.Value.Share
		if !s.Agent() || !other.Agent() {
			continue
		}
		if s.Alpha.Value() != other.Alpha.Value() || (s.Alpha == "") != (other.Alpha == "") {
			c.problem(path+".alpha", "another alpha than that of "+t.Name, "the same on all terminals that share")
			break
		}
		if s.Index != other.Index {
			c.problem(path+".index", "another index than that of "+t.Name, "the same on all terminals that share")
			break
		}
	}
	if servers := c.e.Servers.Names(); s.Hub != "" && !slices.Contains(servers, s.Hub) {
		c.problem(path+".hub", c.found(path+".hub"), document.OneOf(s.Hub, servers))
	}
}
