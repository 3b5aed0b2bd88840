// The random command runs random cells in virtual time, with and without agents, and writes how
// sharing does in them. Agents are the real control and messages; the medium has every frame.
//
//	go run ./test/bench/random -cells 200 -page docs/results/random-cells.md
//	go run ./test/bench/random -cells 200 -runs 3 -observe  # the spread of equal cells
//	go run ./test/bench/random -seed 17                 # one cell, terminal by terminal
//	go run ./test/bench/random -seed 17 -lab cell.yaml  # that cell as an experiment with real TCP
//	go run ./test/bench/random -real 30 -page docs/results/random-cells-tcp.md
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/sys/file"
	"airtide/test/bench/benchlab"
)

// What all cells have in common.
var (
	off     []control.Rule // rules that are switched off
	observe bool           // agents bound nothing
	runs    = 1            // runs of each cell, whose results are means
)

// options are the flags.
type options struct {
	cells, real   int
	first, seed   uint64
	page, lab     string
	airtide, keep string
	list          bool
}

func main() {
	o := options{}
	flag.IntVar(&o.cells, "cells", 100, "how many cells")
	flag.Uint64Var(&o.first, "first", 1, "seed of the first cell")
	flag.Uint64Var(&o.seed, "seed", 0, "run one cell and show each terminal")
	flag.BoolVar(&o.list, "list", false, "list all cells, one a line")
	flag.StringVar(&o.page, "page", "", "write a page here")
	flag.StringVar(&o.lab, "lab", "", "write the cell of -seed here, as an experiment for airtide lab run")
	flag.IntVar(&o.real, "real", 0, "run as many cells with real TCP, about 45 s each; it goes on after Ctrl-C")
	flag.StringVar(&o.airtide, "airtide", "./airtide", "the binary that runs them")
	flag.StringVar(&o.keep, "results", "results", "folder of their results")
	flag.BoolVar(&observe, "observe", false, "agents bound nothing: totals show how much equal cells differ")
	flag.IntVar(&runs, "runs", 1, "runs of each cell, with and without agents; totals, rates and RTTs are means")
	disable := flag.String("disable", "", "switch off rules of the control, such as small-start")
	flag.Parse()
	rules, err := control.ParseRules(*disable)
	if err != nil {
		fmt.Fprintln(os.Stderr, "random: -disable:", err)
		os.Exit(2)
	}
	if runs < 1 {
		fmt.Fprintln(os.Stderr, "random: -runs: want 1 or more")
		os.Exit(2)
	}
	if o.lab != "" && o.seed == 0 {
		fmt.Fprintln(os.Stderr, "random: -lab needs -seed")
		os.Exit(2)
	}
	off = rules
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, &o); err != nil {
		fmt.Fprintln(os.Stderr, "random:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o *options) error {
	if o.seed > 0 {
		return runOne(out, o.seed, o.lab)
	}
	var text string
	if o.real > 0 {
		page, err := runReal(ctx, &benchlab.Lab{Airtide: o.airtide, Results: o.keep}, o.real, o.first)
		if err != nil {
			return err
		}
		text = page
	} else {
		outcomes, err := judgeAll(ctx, o.cells, o.first)
		if err != nil {
			return err
		}
		if o.list {
			for i := range outcomes {
				fmt.Fprintln(out, outcomes[i].line())
			}
		}
		text = pageOf(outcomes)
	}
	if o.page == "" {
		_, err := io.WriteString(out, text)
		return err
	}
	return file.Write(o.page, []byte(text), 0o644)
}

// runOne runs the cell of a seed and shows it, or writes it as an experiment.
func runOne(out io.Writer, seed uint64, lab string) error {
	c, err := newCell(seed)
	if err != nil {
		return err
	}
	if lab != "" {
		text, err := c.experiment(3)
		if err != nil {
			return err
		}
		return file.Write(lab, []byte(text), 0o644)
	}
	o, err := c.judge()
	if err != nil {
		return err
	}
	o.print(out)
	return nil
}

// judgeAll runs cells side by side, in order of their seeds in the result.
func judgeAll(ctx context.Context, cells int, first uint64) ([]outcome, error) {
	outcomes := make([]outcome, cells)
	errs := make([]error, cells)
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				c, err := newCell(first + uint64(i))
				if err == nil {
					outcomes[i], err = c.judge()
				}
				errs[i] = err
			}
		})
	}
	told := time.Now()
	for i := range cells {
		select {
		case <-ctx.Done():
			close(next)
			workers.Wait()
			return nil, fmt.Errorf("interrupted after %d of %d cells", i, cells)
		case next <- i:
		}
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "%d of %d cells\n", i, cells)
		}
	}
	close(next)
	workers.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("cell of seed %d: %w", first+uint64(i), err)
		}
	}
	return outcomes, nil
}
