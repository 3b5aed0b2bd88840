// Command cell measures the emulated cell: throughput, processor time and lateness with real TCP,
// side by side with a token bucket on a veth pair, and prints the figures of
// docs/results/performance.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"airtide/internal/cell"
	"airtide/internal/cell/engine"
	"airtide/internal/vm"
	"airtide/test/bench/benchtext"
)

func main() {
	if vm.IsGuest() {
		vm.Main(nil)
	}
	if engine.IsEngine() {
		os.Exit(engine.Main(cell.Build))
	}
	b := &bench{}
	flag.IntVar(&b.rounds, "rounds", 4, "rounds of all ways in turn")
	flag.IntVar(&b.seconds, "seconds", 4, "seconds of traffic per run")
	only := flag.String("only", "", "only the parts whose name contains this")
	guest := flag.Bool("in-guest", false, "this is a command in a virtual machine; for this program's own use")
	flag.Parse()
	benchtext.Run("bench", func(ctx context.Context) error {
		if *guest {
			if err := seeOwnProcesses(); err != nil {
				return err
			}
		}
		return b.run(ctx, *only)
	})
}

type bench struct{ rounds, seconds int }

// run runs the parts whose name contains something.
func (b *bench) run(ctx context.Context, only string) error {
	defer benchtext.KeepAwake()()
	fmt.Println(benchtext.Machine())
	for _, p := range []struct {
		name string
		run  func(context.Context) error
	}{{"wire", b.wire}, {"cell", b.cell}, {"many", b.many}, {"netem", b.netem}, {"medium", b.medium}} {
		if !strings.Contains(p.name, only) {
			continue
		}
		if err := p.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// medium prints Go's own benchmark of the medium in virtual time.
func (b *bench) medium(ctx context.Context) error {
	fmt.Print("\n### The medium alone, in virtual time\n\n```\n")
	c := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "BenchmarkMedium", "-benchtime", "1s",
		"./internal/cell/medium")
	c.Stdout = os.Stdout
	c.Stderr = os.Stderr
	err := c.Run()
	fmt.Println("```")
	return err
}
