package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"regexp"
	"strconv"

	"airtide/internal/benchlab"
	"airtide/lab/judge"
	"airtide/lab/show"
)

// experiments runs some one after another. One without a result gives an empty report beside its error.
func (f *fidelity) experiments(ctx context.Context, names ...string) iter.Seq2[*show.Report, error] {
	return func(yield func(*show.Report, error) bool) {
		for _, name := range names {
			r, err := f.lab.Report(ctx, name)
			if r == nil {
				r = &show.Report{}
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// papers prints the claims of the experiments that repeat figures of the papers.
func (f *fidelity) papers(ctx context.Context) error {
	var errs []error
	fmt.Println("| experiment | claim | says | verdict |\n|---|---|---|---|")
	for r, err := range f.experiments(ctx, "p2-table3", "p1-fig7") {
		errs = append(errs, err)
		for _, c := range r.Claims {
			fmt.Printf("| %s | %s | %s | %s |\n", r.Experiment, c.Name, benchlab.Cell(c.Says), benchlab.Cell(c.Verdict.Text))
		}
	}
	return errors.Join(errs...)
}

// said takes the reference's figures out of a claim's words.
var said = regexp.MustCompile(`goodput ([\d.]+) Mbit/s .* AP backlog ([\d.]+) packets, RTT ([\d.]+) ms`)

// tcp prints a row for each row of the reference.
func (f *fidelity) tcp(ctx context.Context) error {
	fmt.Println("| row | ns-3, Mbit/s | airtide, Mbit/s (sd) | deviation | AP backlog, packets: ns-3 | airtide | RTT, ms: ns-3 | airtide | Jain |\n|---|---|---|---|---|---|---|---|---|")
	var errs []error
	var all []float64
	for r, err := range f.experiments(ctx, "ns3-tcp", "ns3-tcp-mixed") {
		errs = append(errs, err)
		for _, c := range r.Claims {
			p := point(r, c.Name)
			figures := said.FindStringSubmatch(c.Says)
			if p == nil || figures == nil {
				continue
			}
			reference, _ := strconv.ParseFloat(figures[1], 64)
			total, _ := summary(p, "total")
			backlog, _ := summary(p, "ap_queue")
			srtt, _ := summary(p, "srtt")
			_, jain := summary(p, "goodput")
			deviation := 100 * (total.Mean/reference - 1)
			all = append(all, deviation)
			fmt.Printf("| %s | %s | %.2f (%.2f) | %+.1f %% | %s | %.0f | %s | %.1f | %s |\n",
				c.Name, figures[1], total.Mean, total.SD, deviation, figures[2], backlog.Mean, figures[3], srtt.Mean, jain)
		}
	}
	within := 0
	for _, d := range all {
		if math.Abs(d) <= 10 {
			within++
		}
	}
	fmt.Printf("\n%d of %d rows within 10 %%.\n", within, len(all))
	return errors.Join(errs...)
}

func point(r *show.Report, name string) *show.Point {
	for i := range r.Points {
		for _, s := range r.Points[i].Settings {
			if s.Value.Text == name {
				return &r.Points[i]
			}
		}
	}
	return nil
}

// summary is a measurement's, with Jain's index where it has one.
func summary(p *show.Point, name string) (s judge.Summary, jain string) {
	for _, m := range p.Measurements {
		if m.Name == name {
			if m.Jain != nil {
				jain = fmt.Sprintf("%.3f", m.Jain.Mean)
			}
			return m.Summary, jain
		}
	}
	return judge.Summary{Mean: math.NaN(), SD: math.NaN()}, ""
}
