// Command fidelity holds the emulated cell against theory, an independent simulation and the
// papers, and prints the tables of docs/results/fidelity.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"airtide/internal/cell/engine"
	"airtide/test/bench/benchlab"
	"airtide/test/bench/benchtext"
)

//go:generate go run ./ns3tcp ../../../experiments/fidelity

func main() {
	f := &fidelity{}
	flag.StringVar(&f.lab.Airtide, "airtide", "./airtide", "the binary to run experiments with")
	flag.StringVar(&f.lab.Results, "results", "results/fidelity",
		"folder for the experiments' results; what is finished there is not done again")
	flag.DurationVar(&f.lab.LagLimit, "lag-limit", engine.DefaultLagLimit,
		"how late 1 packet in 100 may leave the cell for a run to count; more on a busy host, whose figures say less")
	only := flag.String("only", "", "only the parts whose name contains this")
	flag.Parse()
	benchtext.Run("fidelity", func(ctx context.Context) error { return f.run(ctx, *only) })
}

// run runs the parts whose name contains something. One that fails does not keep the others from
// being run. It fails when a row is outside its goal.
func (f *fidelity) run(ctx context.Context, only string) error {
	fmt.Println(benchtext.Machine())
	var errs []error
	for _, part := range f.parts() {
		if !strings.Contains(part.name, only) {
			continue
		}
		fmt.Printf("\n## %s\n\n", part.title)
		err := part.run(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", part.name, err))
		}
		f.verdicts.add("every part runs, and its own tests pass", part.name, err == nil)
	}
	return errors.Join(append(errs, f.verdicts.print(os.Stdout))...)
}

// fidelity holds the common inputs of the parts.
type fidelity struct {
	lab      benchlab.Lab
	verdicts verdicts
}

type part struct {
	name, title string
	run         func(context.Context) error
}

func (f *fidelity) parts() []part {
	return []part{
		{"bianchi", "Bianchi's saturation throughput, in virtual time", rows("./internal/cell/medium",
			"TestSaturationAgreesWithBianchi",
			"| cell | stations | model, Mbit/s | airtide, Mbit/s | deviation | |", "|---|---|---|---|---|---|")},
		{"udp", "Saturating UDP, ns-3 3.44, in virtual time", rows("./internal/cell/medium",
			"TestUDPSaturationAgreesWithNS3",
			udpHeader, strings.Repeat("|---", strings.Count(udpHeader, "|")-1)+"|")},
		{"seed", "The same seed gives the same run", passes("./internal/cell/...", "SameSeed")},
		{"delay", "Added delay, real packets", f.delay},
		{"papers", "Osugi et al. 2012, table 3, Miki et al. 2010, figure 7, real TCP and UDP", f.papers},
		{"tcp", "The kernel's TCP through the engine", f.tcp},
	}
}
