package plot

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"airtide/internal/view/figure"
)

// Draw writes a figure of one flow, or with Options.Grid of several, in a format of Formats.
func Draw(w io.Writer, format string, kind Kind, flows []*FlowSeries, o Options) error {
	f, err := Figure(kind, flows, o)
	if err != nil {
		return err
	}
	return f.Write(w, format, o.figureOptions())
}

// Figure describes a figure of one flow, or with Options.Grid of several.
func Figure(kind Kind, flows []*FlowSeries, o Options) (*figure.Figure, error) {
	if _, err := ParseKind(string(kind)); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	notes := []string{o.Note}
	if err := checkNumber(len(flows), o.Grid); err != nil {
		return nil, err
	}
	v, err := viewOf(flows, o)
	if err != nil {
		return nil, err
	}
	d := definitions[kind]
	if len(flows) > 1 && !o.Grid {
		f := together(&v, d, flows)
		return f, nil
	}
	f := &figure.Figure{Title: o.Title, X: v.timeAxis(), HeightCm: d.heightCm}
	for _, flow := range flows {
		v.FlowSeries = flow
		f.Cells = append(f.Cells, figure.Cell{Title: flow.label(), Panels: d.panels(&v)})
		if d.note != nil {
			notes = append(notes, d.note(&v))
		}
	}
	f.Note = JoinNotes(notes...)
	if o.Grid {
		notes = append(notes, dropEmpty(f))
		f.Columns = gridColumns(len(f.Cells), o.WidthCm)
		rows := (len(f.Cells) + f.Columns - 1) / f.Columns
		f.HeightCm = float64(rows)*max(gridPanelCm, d.heightCm*gridPanelPart) + 1
	} else {
		f.Title = cmp.Or(f.Title, f.Cells[0].Title)
		if len(f.Cells[0].Panels) == 1 {
			f.HeightCm = min(f.HeightCm, onePanelCm)
		}
	}
	f.Note = JoinNotes(notes...)
	return f, nil
}

// JoinNotes joins the notes that are not empty, each once.
func JoinNotes(notes ...string) string {
	var all []string
	for _, n := range notes {
		if n != "" && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return strings.Join(all, "; ")
}

// checkNumber refuses more flows than a figure can show, or none.
func checkNumber(flows int, grid bool) error {
	switch {
	case flows == 0:
		return errors.New("figure: nothing to draw: no flow was chosen, or the recording has none")
	case flows > MaxTogether && !grid:
		return fmt.Errorf("figure: %d flows do not fit one panel: choose at most %d, or draw them as a grid",
			flows, MaxTogether)
	case flows > MaxGrid:
		return fmt.Errorf("figure: %d flows do not fit one grid: choose at most %d", flows, MaxGrid)
	}
	return nil
}

// gridColumns is the number of columns of a grid of a width, 0 for the default: two keep the cells
// wide enough for print, and in a column of a paper one does.
func gridColumns(flows int, widthCm float64) int {
	switch {
	case flows == 1, widthCm != 0 && widthCm < twoColumnsCm:
		return 1
	case flows <= 12:
		return 2
	}
	return 3
}

// originShare is the part of the axis that may be empty before the first flow so that the axis
// still starts at 0.
const originShare = 0.1

// viewOf bounds the figure by the options, or by the times of the flows.
func viewOf(flows []*FlowSeries, o Options) (view, error) {
	v := view{o: o, origin: cmp.Or(o.OriginNs, flows[0].series.o.OriginNs)}
	first := int64(math.MaxInt64)
	last := int64(math.MinInt64)
	for _, f := range flows {
		first = min(first, f.FirstNs)
		last = max(last, f.LastNs)
	}
	v.from = v.origin + int64(o.From)
	v.to = v.origin + int64(o.To)
	if o.From == 0 {
		v.from = min(v.from, first) // events may come before the start of the recording
	}
	if last < first || (o.To != 0 && first > v.to) || last < v.from {
		return v, nothingThere(flows, o)
	}
	if o.To == 0 {
		v.to = max(last, v.from)
	}
	if o.From == 0 && float64(first-v.origin) > originShare*float64(v.to-v.origin) {
		v.from = first
	}
	if v.to <= v.from { // a single moment
		v.to = v.from + 500_000
		v.from -= 500_000
	}
	return v, nil
}

func (v *view) timeAxis() figure.Axis {
	from := v.x(v.from)
	to := v.x(v.to)
	a := figure.Axis{Label: "time", Kind: figure.Time, Min: &from, Max: &to}
	if !v.o.Wall.IsZero() {
		a.Kind = figure.Clock
		a.Zero = v.o.Wall
	}
	return a
}

func nothingThere(flows []*FlowSeries, o Options) error {
	subject := fmt.Sprintf("none of the %d flows", len(flows))
	verb := "has a sample or an event"
	if len(flows) == 1 {
		subject = fmt.Sprintf("flow %d", flows[0].Flow.ID)
		verb = "has no sample and no event"
	}
	if o.From == 0 && o.To == 0 {
		return fmt.Errorf("figure: nothing to draw: %s %s", subject, verb)
	}
	end := "the end"
	if o.To != 0 {
		end = o.To.String()
	}
	return fmt.Errorf("figure: nothing to draw: %s %s between %v and %s; choose other bounds",
		subject, verb, o.From, end)
}
