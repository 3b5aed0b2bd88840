package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"

	"airtide/fairness"
	"airtide/lab/plan"
	"airtide/lab/result"
	"airtide/summary"
	"airtide/tcp"
	"airtide/trace"
)

// judgeRecording judges the flows, processes or peers of a recording.
func (f *fairnessFlags) judgeRecording(out io.Writer, path string) error {
	key := map[string]func(*summary.Flow) string{
		"flow":    func(fl *summary.Flow) string { return fmt.Sprintf("%d %s", fl.ID, tcp.Endpoint(fl.Remote)) },
		"process": func(fl *summary.Flow) string { return fmt.Sprintf("%s/%d", cmp.Or(fl.Comm, "?"), fl.PID) },
		"peer":    func(fl *summary.Flow) string { return fl.Remote.Addr().Unmap().String() },
	}[cmp.Or(f.by, "flow")]
	if key == nil {
		return misuse{fmt.Errorf("--by %q: a recording has flow, process and peer", f.by)}
	}
	r, err := openTrace(path)
	if err != nil {
		return err
	}
	defer r.Close()
	s := summary.New(summary.Options{Unseen: unseen(r.Metadata().Source)})
	if err := r.Scan(trace.ScanOptions{Fields: summary.Fields()}, s); err != nil {
		return err
	}
	warnDamage(path, r)
	report := s.Report()
	if report.Totals.ActiveS == 0 {
		return fmt.Errorf("%s: nothing was sent for long enough to have a rate", path)
	}
	one, err := f.recorded(&report, key)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := f.judge(&one); err != nil {
		return err
	}
	return f.print(out, one)
}

// recorded are the rates of those that a key names: bytes in both directions over the active time of the whole recording.
func (f *fairnessFlags) recorded(report *summary.Report, key func(*summary.Flow) string) (judged, error) {
	all := judged{}
	place := map[string]int{}
	for _, flow := range counting(report.Flows) {
		name := key(flow)
		at, ok := place[name]
		if !ok {
			at = len(all.Names)
			place[name], all.Names, all.Rates = at, append(all.Names, name), append(all.Rates, 0)
		}
		for _, bytes := range []*int64{flow.AckedBytes, flow.ReceivedBytes} {
			if bytes != nil {
				all.Rates[at] += float64(*bytes) * 8e-6 / report.Totals.ActiveS
			}
		}
	}
	one := judged{Of: cmp.Or(f.by, "flow")}
	for i, rate := range all.Rates {
		if rate >= f.leastRate {
			one.Names, one.Rates = append(one.Names, all.Names[i]), append(one.Rates, rate)
		}
	}
	if out := len(all.Rates) - len(one.Rates); out > 0 {
		fmt.Fprintf(os.Stderr, "airtide: %d of %s left out: below --least %s\n", out, counted(len(all.Rates), "rate"), f.least)
	}
	if len(one.Rates) == 0 {
		return one, errors.New("no flow of it has a rate to judge")
	}
	return one, nil
}

// counting are the flows that tell what they moved. Of a connection of which both ends were recorded it is the sender.
func counting(flows []summary.Flow) []*summary.Flow {
	type ends struct{ from, to netip.AddrPort }
	acked := map[ends]int64{}
	for i := range flows {
		if n := flows[i].AckedBytes; n != nil {
			acked[ends{flows[i].Local, flows[i].Remote}] = *n
		}
	}
	var counting []*summary.Flow
	for i := range flows {
		flow := &flows[i]
		far, both := acked[ends{flow.Remote, flow.Local}]
		own := acked[ends{flow.Local, flow.Remote}]
		less := own < far || own == far && flow.Remote.Compare(flow.Local) < 0
		if flow.AckedBytes == nil && flow.ReceivedBytes == nil || both && less {
			continue
		}
		counting = append(counting, flow)
	}
	return counting
}

// judgeResult judges one run, or the runs of a result and each point's mean.
func (f *fairnessFlags) judgeResult(out io.Writer) error {
	if f.by != "" && f.by != "terminal" && f.by != "flow" {
		return misuse{fmt.Errorf("--by %q: a result has terminal and flow", f.by)}
	}
	if st, err := os.Stat(f.result); err == nil && !st.IsDir() {
		r, err := result.Read(f.result)
		if err != nil {
			return err
		}
		if !r.Valid {
			fmt.Fprintf(os.Stderr, "airtide: %s: this run is not valid\n", f.result)
		}
		one, err := f.run(r)
		if err != nil {
			return err
		}
		return f.print(out, one)
	}
	dir, err := resultDir(f.results, f.result)
	if err != nil {
		return err
	}
	folder, err := result.Open(dir)
	if err != nil {
		return err
	}
	runs, problems := folder.Results()
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	all := judgedResult{Experiment: folder.Plan.Experiment.Name, Runs: []judged{}}
	points := map[string][]fairness.Indices{}
	for _, r := range runs {
		if !r.Valid {
			fmt.Fprintf(os.Stderr, "airtide: %s is left out: the run is not valid\n", filepath.Join(dir, "runs", r.Run))
			continue
		}
		one, err := f.run(r)
		if err != nil {
			return err
		}
		all.Runs = append(all.Runs, one)
		points[r.Point] = append(points[r.Point], one.Indices)
	}
	if len(all.Runs) == 0 {
		return fmt.Errorf("%s has no finished run", dir)
	}
	for _, p := range folder.Plan.Points {
		if of := points[p.ID]; len(of) > 0 {
			all.Means = append(all.Means, judgedMean{p.ID, fairness.Mean(of)})
		}
	}
	return f.printResult(out, all)
}

// run judges the goodput of one run.
func (f *fairnessFlags) run(r *result.Result) (judged, error) {
	one := judged{Run: r.Run, Point: r.Point, Of: cmp.Or(f.by, "terminal")}
	if r.Cell == nil {
		return one, fmt.Errorf("run %s: the cell counted nothing", r.Run)
	}
	rates := map[string][2]float64{}
	for _, w := range r.Cell.Flows {
		rates[w.Name] = [2]float64{w.ForwardMbps, w.ReverseMbps}
	}
	terminals := map[string]float64{}
	for _, flow := range r.Flows {
		both, counted := rates[flow.Name]
		if !counted || flow.Protocol == string(plan.Ping) {
			continue
		}
		goodput := max(both[0], both[1])
		if flow.Direction == string(plan.Both) {
			goodput = both[0] + both[1]
		}
		if f.by == "flow" {
			one.Names, one.Rates = append(one.Names, flow.Name), append(one.Rates, goodput)
		}
		for _, end := range []string{flow.From, flow.To} {
			terminals[end] += goodput
		}
	}
	if f.by != "flow" {
		for _, t := range r.Cell.Terminals {
			if goodput, sends := terminals[t.Name]; sends {
				one.Names, one.Rates = append(one.Names, t.Name), append(one.Rates, goodput)
			}
		}
	}
	if len(one.Rates) == 0 {
		return one, fmt.Errorf("run %s: no flow has a goodput", r.Run)
	}
	return one, f.judge(&one)
}
