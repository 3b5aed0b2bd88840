// Command ablate switches the rules of the sharing agent's control off, one after the other, runs
// cells in virtual time, and writes docs/results/share-ablation.md.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"

	"airtide/internal/share/control"
	"airtide/test/bench/benchtext"
)

func main() {
	page := flag.String("page", "docs/results/share-ablation.md", "the page that is written")
	seeds := flag.Int("seeds", 3, "seeds of each cell")
	traces := flag.String("traces", "internal/share/control/testdata", "recorded traces of agents")
	flag.Parse()
	benchtext.Run("ablate", func(ctx context.Context) error { return run(ctx, *page, *traces, *seeds) })
}

func run(ctx context.Context, page, traces string, seeds int) error {
	all := cells()
	var rows []row
	for _, rule := range append([]control.Rule{""}, control.Rules...) {
		r := row{rule: rule}
		var err error
		r.noticed, r.traces, err = noticing(rule, traces)
		if err != nil {
			return err
		}
		for _, c := range all {
			if err := ctx.Err(); err != nil {
				return err
			}
			o, err := c.measure(rule, seeds)
			if err != nil {
				return fmt.Errorf("%s without %s: %w", c.name, rule, err)
			}
			r.outcomes = append(r.outcomes, o)
		}
		rows = append(rows, r)
	}
	var b bytes.Buffer
	write(&b, all, rows)
	return os.WriteFile(page, b.Bytes(), 0o644)
}
