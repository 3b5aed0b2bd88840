package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/report"
	"airtide/test/bench/benchlab"
	"airtide/test/ns3"
)

// experiments runs some one after another. One without a result gives an empty report beside its
// error.
func (f *fidelity) experiments(ctx context.Context, names ...string) iter.Seq2[*report.Report, error] {
	return func(yield func(*report.Report, error) bool) {
		for _, name := range names {
			r, err := f.lab.Report(ctx, name)
			if r == nil {
				r = &report.Report{}
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
			fmt.Printf("| %s | %s | %s | %s |\n", r.Experiment, c.Name, benchlab.Cell(c.Says),
				benchlab.Cell(c.Verdict.Text))
			f.verdicts.add("the papers' claims are not refuted", r.Experiment+" "+c.Name,
				c.Verdict.Outcome != judge.NotHeld)
		}
	}
	return errors.Join(errs...)
}

// references are the rows of ns-3's TCP, by the names of the claims.
func references() map[string]ns3.Row {
	all := map[string]ns3.Row{}
	for _, row := range ns3.Rows("cubic", "reno") {
		all[row.Name()] = row
	}
	return all
}

// tcpHeader are the columns of tcpRow.
const tcpHeader = "| row | goodput, Mbit/s: ns-3 | airtide | deviation | AP backlog, packets: ns-3 | airtide | RTT, " +
	"ms: ns-3 | airtide | Jain | ACKs per segment | runs | late at most, ms (99 %) | taken by the host, % |"

// tcp prints a row for each row of the reference.
func (f *fidelity) tcp(ctx context.Context) error {
	fmt.Println("Goodput as packets leave the cell. The last columns are the worst of a row's " +
		"runs.\n\n" + tcpHeader + "\n" + strings.Repeat("|---", strings.Count(tcpHeader, "|")-1) + "|")
	var errs []error
	known := references()
	for r, err := range f.experiments(ctx, "ns3-tcp", "ns3-tcp-mixed") {
		errs = append(errs, err)
		for _, c := range r.Claims {
			reference, ok := known[c.Name]
			if !ok {
				errs = append(errs, fmt.Errorf("%s: ns-3 has no row for the claim %s", r.Experiment, c.Name))
				continue
			}
			if row, ok := tcpRow(r, c, reference); ok {
				fmt.Println(row.text)
				f.verdicts.add("TCP: goodput within 10 % of ns-3's", c.Name, math.Abs(row.deviation) <= 10)
				f.verdicts.add("TCP: AP backlog within a factor of 3 of ns-3's", c.Name, row.backlogs >= 1./3 &&
					row.backlogs <= 3)
			}
		}
	}
	return errors.Join(errs...)
}

// tcpResult is a row, the deviation of its goodput in per cent, and its backlog in those of the
// reference.
type tcpResult struct {
	text                string
	deviation, backlogs float64
}

// tcpRow is the row of a claim beside its reference. It reports false if the claim has no runs.
func tcpRow(r *report.Report, c report.Claim, reference ns3.Row) (row tcpResult, ok bool) {
	p := point(r, c.Name)
	if p == nil || p.Runs == 0 {
		return row, false
	}
	total, _ := summary(p, "total")
	backlog, _ := summary(p, "ap_queue")
	srtt, _ := summary(p, "srtt")
	_, jain := summary(p, "goodput")
	row.deviation = 100 * (total.Mean/reference.Goodput - 1)
	row.backlogs = backlog.Mean / reference.Backlog
	var segments, acks int64
	var lateMs, stolen float64
	for _, run := range r.Results(p.ID) {
		stolen = max(stolen, run.StolenPercent)
		if run.Engine != nil {
			lateMs = max(lateMs, float64(run.Engine.Lag.P99Ns)/1e6)
		}
		if run.Cell == nil {
			continue
		}
		for _, flow := range run.Cell.Flows {
			segments += flow.ForwardPackets
			acks += flow.ReversePackets
		}
	}
	ratio := ""
	// Only for uploads, ACKs fill the access point's queue.
	if strings.Contains(c.Name, "_up_") && segments > 0 {
		ratio = fmt.Sprintf("%.2f", float64(acks)/float64(segments))
	}
	row.text = fmt.Sprintf("| %s | %.2f | %.2f | %+.1f %% | %.0f | %.0f | %.0f | %.0f | %s | %s | %d | %.1f | %.1f |",
		c.Name, reference.Goodput, total.Mean, row.deviation, reference.Backlog, backlog.Mean, reference.RTTMs,
		srtt.Mean, jain, ratio, p.Runs, lateMs, stolen)
	return row, true
}

func point(r *report.Report, name string) *report.Point {
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
func summary(p *report.Point, name string) (s judge.Summary, jain string) {
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
