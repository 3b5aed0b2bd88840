package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"airtide/internal/share/control"
)

// row holds the cells' outcomes without a rule. The first row is with all rules.
type row struct {
	rule            control.Rule
	outcomes        []outcome
	noticed, traces int // recorded traces that decide something else, of all
}

// A change counts from these on: of the total and the RTT as parts, and of Jain's index.
const noticeTotal, noticeJain, noticeRTT = 0.02, 0.01, 0.1

// against returns how an outcome differs from another; "" if by nothing that counts.
func (o outcome) against(with outcome) string {
	var parts []string
	if d := o.total/with.total - 1; math.Abs(d) >= noticeTotal {
		parts = append(parts, fmt.Sprintf("total %+.0f %%", 100*d))
	}
	if d := o.jain - with.jain; math.Abs(d) >= noticeJain {
		parts = append(parts, fmt.Sprintf("Jain %+.3f", d))
	}
	if d := float64(o.rtt)/float64(with.rtt) - 1; math.Abs(d) >= noticeRTT {
		parts = append(parts, fmt.Sprintf("RTT %+.0f %%", 100*d))
	}
	return strings.Join(parts, ", ")
}

func write(w io.Writer, all []cell, rows []row) {
	fmt.Fprint(w, `# What each rule of sharing contributes

Written by `+"`go run ./test/bench/ablate`"+` in virtual time ([test/simulate](../design/sharing.md)); the
same seeds give the same page. Medians of the seeds. The experiment share-ablate does it with real
TCP.

## With all rules

| cell | what it is | total, Mbit/s | Jain's index of airtime | longest mean RTT, ms |
|---|---|---:|---:|---:|
`)
	for i, c := range all {
		o := rows[0].outcomes[i]
		fmt.Fprintf(w, "| %s | %s | %.0f | %.3f | %.1f |\n", c.name, c.about, o.total/1e6, o.jain, o.rtt.Seconds()*1e3)
	}
	fmt.Fprintf(w, `
## Without one rule

Changes of the total by %.0f %%, of Jain's index by %.2f and of the RTT by %.0f %% or more. Traces were
recorded in the lab (internal/share/control/testdata): so many decide something else.

| switched off | changes | traces |
|---|---|---:|
`, 100*noticeTotal, noticeJain, 100*noticeRTT)
	for _, r := range rows[1:] {
		var changes []string
		for i, o := range r.outcomes {
			if d := o.against(rows[0].outcomes[i]); d != "" {
				changes = append(changes, all[i].name+": "+d)
			}
		}
		if len(changes) == 0 {
			changes = []string{"none"}
		}
		fmt.Fprintf(w, "| `%s` | %s | %d of %d |\n", r.rule, strings.Join(changes, "; "), r.noticed, r.traces)
	}
}
