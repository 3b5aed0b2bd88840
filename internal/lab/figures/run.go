package figures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"airtide/internal/cell"
	"airtide/internal/lab/result"
	"airtide/internal/view/figure"
)

// DrawRun draws the time series of a run from its folder: goodput, airtime and queues of each
// terminal.
func DrawRun(ctx context.Context, w io.Writer, format, dir string, o figure.Options) error {
	r, err := result.Read(filepath.Join(dir, "result.json"))
	if err != nil {
		return err
	}
	if r.Series == "" {
		return fmt.Errorf("run %s: it has no time series", r.Run)
	}
	windows, err := result.ReadSeries(ctx, filepath.Join(dir, r.Series))
	if err != nil {
		return err
	}
	c, err := buildRun(r, windows)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.Run, err)
	}
	return c.Write(w, format, o)
}

// terminalValue returns a value of a terminal in a window of time.
type terminalValue func(*cell.Window, *cell.TerminalWindow) float64

// buildRun returns a chart with a panel for each quantity and a line for each terminal.
func buildRun(r *result.Result, windows []*cell.Window) (*chart, error) {
	if len(windows) == 0 || len(windows[0].Terminals) == 0 {
		return nil, errors.New("its time series is empty")
	}
	c := newChart(fmt.Sprintf("%s, run %s", r.Experiment.Name, r.Run))
	c.X = timeAxis(float64(windows[0].FromNs)/1e9, float64(windows[len(windows)-1].ToNs)/1e9)
	c.addTerminals("goodput", "Mbit/s", windows, terminalGoodput(r))
	radio := func(t *cell.TerminalWindow) bool { return !t.Ethernet }
	if containsTerminal(windows[0], radio) {
		c.addTerminals("airtime", "%", windows,
			func(_ *cell.Window, t *cell.TerminalWindow) float64 { return t.AirtimePercent })
		c.addTerminals("own queue", "packets", windows,
			func(_ *cell.Window, t *cell.TerminalWindow) float64 { return t.Queue.MeanPackets })
		c.addTerminals("AP queue", "packets", windows,
			func(_ *cell.Window, t *cell.TerminalWindow) float64 { return t.APQueue.MeanPackets })
	}
	c.markWarmup(r.WarmupS)
	var notes []string
	if r.WarmupS > 0 {
		notes = append(notes, warmupNote(r.WarmupS))
	}
	if word := c.limitLegend("terminals"); word != "" {
		notes = append(notes, word)
	}
	c.Note = strings.Join(notes, "; ")
	return c, nil
}

func containsTerminal(w *cell.Window, f func(*cell.TerminalWindow) bool) bool {
	for i := range w.Terminals {
		if f(&w.Terminals[i]) {
			return true
		}
	}
	return false
}

// addTerminals adds a panel with a line for each terminal. Missing windows interrupt the lines.
func (c *chart) addTerminals(label, unit string, windows []*cell.Window, value terminalValue) {
	p := figure.Panel{Left: valueAxis(label, unit)}
	for _, t := range windows[0].Terminals {
		s := figure.Series{Name: t.Name, Kind: figure.Line, Style: c.lineStyleOf(t.Name)}
		for i, w := range windows {
			at := float64(w.FromNs+w.ToNs) / 2
			if i > 0 && w.FromNs != windows[i-1].ToNs {
				s.Data = append(s.Data, figure.Gap(at))
			}
			s.Data = append(s.Data, figure.Point(at, valueIn(w, t.Name, value)))
		}
		p.Series = append(p.Series, s)
	}
	c.add(p)
}

// valueIn returns the value of a terminal in a window; NaN if the window lacks the terminal.
func valueIn(w *cell.Window, terminal string, value terminalValue) float64 {
	for i := range w.Terminals {
		if w.Terminals[i].Name == terminal {
			return value(w, &w.Terminals[i])
		}
	}
	return math.NaN()
}

// terminalGoodput returns the goodput of a terminal in Mbit/s.
func terminalGoodput(r *result.Result) terminalValue {
	goodputs := map[*cell.Window]result.Goodput{}
	return func(w *cell.Window, t *cell.TerminalWindow) float64 {
		g, ok := goodputs[w]
		if !ok {
			g = r.Goodput(w)
			goodputs[w] = g
		}
		return g.Machines[t.Name]
	}
}
