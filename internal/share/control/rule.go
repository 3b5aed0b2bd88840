package control

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is a rule of the control that can be switched off, to measure its effect.
type Rule string

// The rules, by the numbers of docs/design/sharing.md.
const (
	UnlikeQueue       Rule = "unlike-queue"       // R5: a longer queue target if shares are unlike
	WholeAMPDUs       Rule = "whole-ampdus"       // R5: windows of like terminals are whole A-MPDUs
	SmallStart        Rule = "small-start"        // R6: the correction of small windows starts low
	ForeignReports    Rule = "foreign-reports"    // R9: foreign queues that peers report count
	IdleGreedy        Rule = "idle-greedy"        // R10: idle peers count as greedy while this terminal starts
	ForeignAirtime    Rule = "foreign-airtime"    // R12: how busy the channel is tells of foreign traffic
	Losses            Rule = "losses"             // R13: losses shorten the queue target
	WindowCorrection  Rule = "correction"         // windows follow measured rates
	ReleaseComparison Rule = "release-comparison" // windows are released if bounds do not help
)

// Rules lists all rules that can be switched off.
var Rules = []Rule{
	UnlikeQueue, WholeAMPDUs, SmallStart, ForeignReports, IdleGreedy, ForeignAirtime,
	Losses, WindowCorrection, ReleaseComparison,
}

// ParseRules reads names of rules, separated by commas. An empty text means no rule.
func ParseRules(s string) (rules []Rule, err error) {
	if s == "" {
		return nil, nil
	}
	for _, name := range strings.Split(s, ",") {
		r := Rule(strings.TrimSpace(name))
		if !slices.Contains(Rules, r) {
			return nil, fmt.Errorf("%q: want names of rules, such as %s,%s", name, Rules[0], Rules[1])
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// off reports whether a rule is switched off.
func (o *Options) off(r Rule) bool { return slices.Contains(o.Disable, r) }
