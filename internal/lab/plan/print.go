package plan

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"airtide/internal/units"
)

// shownPoints is the largest number of points that a printed plan lists.
const shownPoints = 40

// Print writes the plan as text: the runs, their order and the total time. overhead is the time of
// a run in addition to its duration.
func (p *Plan) Print(w io.Writer, overhead time.Duration) error {
	out := &printer{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	out.experiment(p)
	out.runs(p, overhead)
	if out.err != nil {
		return fmt.Errorf("printing the plan: %w", out.err)
	}
	return out.w.Flush()
}

type printer struct {
	w   *tabwriter.Writer
	err error
}

// experiment prints the experiment with the setup of the first point.
func (out *printer) experiment(p *Plan) {
	e := p.Experiment
	first := p.Points[0].Setup
	out.row("experiment", e.Name)
	out.optional("title", e.Title)
	out.optional("source", e.Source)
	for _, t := range first.Terminals {
		out.row("terminal", t.Name, t.describe())
	}
	for _, s := range first.Servers {
		out.row("server", s.Name, s.Stack.describe())
	}
	for _, cc := range first.CongestionControls {
		out.row("congestion", cc.Name, strings.TrimSpace(string(cc.Kind)+" "+cc.Parameters.String()))
	}
	if first.hasRadio() {
		ap := first.Cell.AP
		remedies := ""
		if ap.AckThinning {
			remedies = ", ACKs thinned"
		}
		if ap.WindowSharing {
			remedies += ", windows shared"
		}
		out.row("cell", string(first.Band), fmt.Sprintf("%s of %s%s", ap.Discipline, ap.Queue, remedies))
	}
	wireDiscipline := "FIFO"
	if first.WireUp.HostFair {
		wireDiscipline = string(HostFair)
	}
	out.row("path", first.WireUp.Rate.String(), fmt.Sprintf("%s of %s", wireDiscipline, first.WireUp.Queue))
	for _, f := range first.Flows {
		out.row("flow", f.Name, f.describe())
	}
	for _, parameter := range p.Parameters {
		out.row("sweep", parameter.Name, strings.Join(parameter.Values, ", "))
	}
	for _, c := range e.Claims {
		out.row("claim", c.Name, c.Value.Holds)
	}
	if len(p.Parameters) > 0 {
		out.row("", "", "values above are those of the first point")
	}
}

// runs prints the number of runs, their time, and the points.
func (out *printer) runs(p *Plan, overhead time.Duration) {
	e := p.Experiment
	first := p.Points[0].Setup
	out.row("points", fmt.Sprint(len(p.Points)), fmt.Sprintf("x %s = %s, in randomised rounds",
		units.Count(e.Repeats, "repeat"), units.Count(len(p.Runs), "run")))
	atOnce := max(1, e.AtOnce)
	each := fmt.Sprintf("%s and %s overhead each", first.Duration, overhead)
	if atOnce > 1 {
		each += fmt.Sprintf(", %d at a time", atOnce)
	}
	out.row("time", "some "+p.Time(overhead).Round(time.Second).String(), each)
	for i, point := range p.Points {
		if i == shownPoints {
			out.row("", fmt.Sprintf("and %d more", len(p.Points)-i))
			break
		}
		if point.ID != "" {
			out.row("point", point.ID)
		}
	}
}

func (out *printer) row(cells ...string) {
	for i := range cells {
		cells[i] = units.Printable(cells[i]) // titles, sources and claims may come from others
	}
	if out.err == nil {
		_, out.err = fmt.Fprintln(out.w, strings.Join(cells, "\t"))
	}
}

func (out *printer) optional(name, value string) {
	if value != "" {
		out.row(name, value)
	}
}

func (s *Setup) hasRadio() bool {
	return slices.ContainsFunc(s.Terminals, func(t TerminalSetup) bool { return t.Link == WLAN })
}

func (t TerminalSetup) describe() string {
	text := "Ethernet"
	if t.Link == WLAN {
		phy := t.Radio.PHY[0].PHY
		text = fmt.Sprintf("%s at %s Mbit/s", phy.Standard, printed(phy.RateBps))
	}
	up := t.Up[0].Line
	down := t.Down[0].Line
	if rtt := up.Delay + down.Delay; rtt > 0 {
		text += fmt.Sprintf(", RTT +%s", rtt)
	}
	if up.Loss > 0 || down.Loss > 0 {
		text += fmt.Sprintf(", loss %s up, %s down", up.Loss, down.Loss)
	}
	return text + ", " + t.Stack.describe()
}

func (s Stack) describe() string {
	var parts []string
	if s.Profile != "" {
		parts = append(parts, s.Profile)
	}
	if s.Congestion != "" {
		parts = append(parts, s.Congestion)
	}
	if s.ReceiveBuffer.Max > 0 {
		parts = append(parts, fmt.Sprintf("receives into %s, sends from %s", s.ReceiveBuffer.Max, s.SendBuffer.Max))
	}
	if len(parts) == 0 {
		return "the kernel's defaults"
	}
	return strings.Join(parts, ", ")
}

func (f FlowSetup) describe() string {
	text := fmt.Sprintf("%s from %s to %s", f.Flow.Protocol, f.From, f.To)
	if f.Flow.Direction != Forward {
		text += ", " + string(f.Flow.Direction)
	}
	if f.Flow.Rate > 0 {
		text += ", " + f.Flow.Rate.String()
	}
	if f.Flow.Parallel > 1 {
		text += fmt.Sprintf(", %d at once", f.Flow.Parallel)
	}
	return fmt.Sprintf("%s, %s to %s", text, f.Start, f.Flow.Stop)
}
