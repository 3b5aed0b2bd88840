// Command share simulates cells of many terminals that share, and prints the tables
// of docs/results/share-scale.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"airtide/test/bench/benchtext"
)

// sizes are the terminals of the cells, and emulatedUpTo the largest of them whose medium is
// emulated frame by frame.
var sizes = []int{2, 4, 8, 16, 32, 64, 128, 256, 512, 1000}

const emulatedUpTo = 64

func main() {
	most := flag.Int("up-to", sizes[len(sizes)-1], "the largest cell (1000 takes the better part of an hour)")
	least := flag.Int("from", sizes[0], "the smallest cell")
	only := flag.String("only", "", "only the table with this in its title")
	flag.Parse()
	benchtext.Run("share", func(ctx context.Context) error { return run(ctx, *only, *least, *most) })
}

type table struct {
	title, header string
	largest       int
	row           func(terminals int) error
}

var tables = []table{
	{
		"Frame by frame", "| terminals | all know all after | rates within a tenth of equal airtime after | Jain's " +
			"index of airtime | total, Mbit/s | " +
			"of it without control | reports, % of airtime | of the medium, measured | agent, % of a core " +
			"|", emulatedUpTo, emulated,
	},
	{
		"By a model of queues", "| terminals | 95 % of the shares within a tenth after | all | all pairs know each " +
			"other | reports of each until then | " +
			"their airtime until then, % | later, % | Jain's index of airtime | agent, % of a core " +
			"|", sizes[len(sizes)-1], modelled,
	},
}

func run(ctx context.Context, only string, least, most int) error {
	fmt.Println(benchtext.Machine())
	for _, t := range tables {
		if !strings.Contains(t.title, only) {
			continue
		}
		fmt.Printf("\n## %s\n\n%s\n%s|\n", t.title, t.header, strings.Repeat("|---:", strings.Count(t.header, "|")-1))
		for _, n := range sizes {
			if n < least || n > min(most, t.largest) {
				continue
			}
			if err := t.row(n); err != nil {
				return fmt.Errorf("%d terminals: %w", n, err)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}

func seconds(d time.Duration) string {
	switch {
	case d < 0:
		return "never"
	case d < 2*time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f min", d.Minutes())
}
