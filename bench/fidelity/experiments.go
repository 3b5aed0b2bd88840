package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"airtide/lab/judge"
	"airtide/lab/result"
	"airtide/lab/show"
)

// experiment runs an experiment of experiments/, or does what an earlier run has left over, and reads its result.
func (f *fidelity) experiment(ctx context.Context, name string) (*show.Report, error) {
	args := []string{"lab", "run", name, "-o", f.results}
	dir, err := result.Latest(f.results, name)
	if err == nil {
		args = []string{"lab", "resume", dir}
		if r, err := show.Read(dir); err == nil && len(r.Runs.Missing) == 0 {
			return r, nil
		}
	}
	c := exec.CommandContext(ctx, f.airtide, append(args, "--lag-limit", f.lagLimit.String())...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.Stderr = os.Stderr
	runErr := c.Run()
	var exit *exec.ExitError
	if errors.As(runErr, &exit) && exit.ExitCode() == 3 {
		runErr = nil // a claim does not hold: that is what the table says
	}
	if dir, err = result.Latest(f.results, name); err != nil {
		return nil, errors.Join(runErr, err)
	}
	r, err := show.Read(dir)
	return r, errors.Join(runErr, err)
}

// papers prints the claims of the experiments that repeat figures of the papers.
func (f *fidelity) papers(ctx context.Context) error {
	var errs []error
	fmt.Println("| experiment | claim | says | verdict |\n|---|---|---|---|")
	for _, name := range []string{"p2-table3", "p1-fig7"} {
		r, err := f.experiment(ctx, name)
		if err != nil {
			errs = append(errs, err)
		}
		if r == nil {
			continue
		}
		for _, c := range r.Claims {
			fmt.Printf("| %s | %s | %s | %s |\n", name, c.Name, cell(c.Says), cell(c.Verdict.Text))
		}
	}
	return errors.Join(errs...)
}

func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "\\|")
}

// said takes the reference's figures out of a claim's words.
var said = regexp.MustCompile(`goodput ([\d.]+) Mbit/s .* AP backlog ([\d.]+) packets, RTT ([\d.]+) ms`)

// tcp prints a row for each row of the reference.
func (f *fidelity) tcp(ctx context.Context) error {
	fmt.Println("| row | ns-3, Mbit/s | airtide, Mbit/s (sd) | deviation | AP backlog, packets: ns-3 | airtide | RTT, ms: ns-3 | airtide | Jain |\n|---|---|---|---|---|---|---|---|---|")
	var errs []error
	var all []float64
	for _, name := range []string{"ns3-tcp", "ns3-tcp-mixed"} {
		r, err := f.experiment(ctx, name)
		if err != nil {
			errs = append(errs, err)
		}
		if r == nil {
			continue
		}
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
