package show

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"airtide/internal/cell"
	"airtide/internal/lab/result"
)

// DrawRun draws the time series of a run from its folder: goodput, airtime and queues of each terminal over time.
func DrawRun(w io.Writer, format, dir string, o FigureOptions) error {
	r, err := result.Read(filepath.Join(dir, "result.json"))
	if err != nil {
		return err
	}
	if r.Series == "" {
		return fmt.Errorf("run %s: it has no time series", r.Run)
	}
	windows, err := result.ReadSeries(filepath.Join(dir, r.Series))
	if err != nil {
		return err
	}
	c, err := runChart(r, windows)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.Run, err)
	}
	return write(w, format, c, o)
}

// runChart has a panel for each thing that is followed over time, and a line for each terminal.
func runChart(r *result.Result, windows []*cell.Window) (*chart, error) {
	if len(windows) == 0 || len(windows[0].Terminals) == 0 {
		return nil, errors.New("its time series is empty")
	}
	c := &chart{title: fmt.Sprintf("%s, run %s", r.Experiment.Name, r.Run), kind: steps, mark: math.NaN()}
	start, end := seconds(windows[0].FromNs), seconds(windows[len(windows)-1].ToNs)
	c.x = axis{title: "time (s)", low: start, high: end, automatic: true, gap: math.NaN()}
	if r.WarmupS > 0 {
		c.mark, c.note = r.WarmupS, fmt.Sprintf("measurements begin at %s s", short(r.WarmupS))
	}
	radio := false
	for _, t := range windows[0].Terminals {
		c.names = append(c.names, t.Name)
		radio = radio || !t.Ethernet
	}
	if len(c.names) > maxEntries {
		c.note = strings.Join(append(filled(c.note), fmt.Sprintf("%d terminals, without a legend", len(c.names))), "; ")
	}
	goodput := terminalGoodput(r)
	follow := func(title string, value func(w *cell.Window, t *cell.TerminalWindow) float64) {
		c.panels = append(c.panels, overTime(title, c.names, windows, value))
	}
	follow("goodput (Mbit/s)", goodput)
	if radio {
		follow("airtime (%)", func(_ *cell.Window, t *cell.TerminalWindow) float64 { return t.AirtimePercent })
		follow("own queue (packets)", func(_ *cell.Window, t *cell.TerminalWindow) float64 { return t.Queue.MeanPackets })
		follow("AP queue (packets)", func(_ *cell.Window, t *cell.TerminalWindow) float64 { return t.APQueue.MeanPackets })
	}
	return c, nil
}

// overTime is a panel with a line for each terminal, interrupted where windows are missing.
func overTime(title string, names []string, windows []*cell.Window, value func(*cell.Window, *cell.TerminalWindow) float64) panel {
	p := panel{title: title}
	for i, name := range names {
		s := series{index: i}
		var last int64
		for n, w := range windows {
			at := (seconds(w.FromNs) + seconds(w.ToNs)) / 2
			y := math.NaN()
			for j := range w.Terminals {
				if w.Terminals[j].Name == name {
					y = value(w, &w.Terminals[j])
				}
			}
			if n > 0 && w.FromNs != last {
				s.points = append(s.points, point{at, math.NaN(), math.NaN(), math.NaN()})
			}
			s.points = append(s.points, point{at, y, math.NaN(), math.NaN()})
			last = w.ToNs
		}
		p.series = append(p.series, s)
	}
	return p
}

// terminalGoodput sums up the flows that a terminal takes part in, both directions.
func terminalGoodput(r *result.Result) func(*cell.Window, *cell.TerminalWindow) float64 {
	ends := map[string][2]string{}
	for _, f := range r.Flows {
		ends[f.Name] = [2]string{f.From, f.To}
	}
	return func(w *cell.Window, t *cell.TerminalWindow) float64 {
		sum := 0.0
		for _, f := range w.Flows {
			if e := ends[f.Name]; e[0] == t.Name || e[1] == t.Name {
				sum += f.ForwardMbps + f.ReverseMbps
			}
		}
		return sum
	}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
