package figures

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"airtide/internal/lab/measure"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/packets/conn"
	"airtide/internal/packets/read"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/view/figure"
	"airtide/internal/view/plot"
)

// plotted draws a figure of package plot, of one flow in the first finished run.
func (s *selection) plotted(ctx context.Context, f plan.Figure) (*chart, error) {
	run := s.firstWith(nil)
	if run == nil {
		return nil, ErrNothing
	}
	draw := s.fromRecording
	if f.Plot.OfCapture() {
		draw = s.fromCapture
	}
	drawn, err := draw(ctx, run, f)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", run.Run, err)
	}
	drawn.Title = cmp.Or(f.Title, s.Title)
	note := "run " + run.Run
	if drawn.Note != "" {
		note += "; " + drawn.Note
	}
	drawn.Note = note
	return &chart{Figure: *drawn}, nil
}

// fromRecording draws the sending connection of a flow with the most acknowledged bytes.
func (s *selection) fromRecording(
	ctx context.Context, run *result.Result, f plan.Figure,
) (*figure.Figure, error) {
	kind, err := plot.ParseKind(string(f.Plot))
	if err != nil {
		return nil, err
	}
	for _, file := range run.Recordings {
		senders := measure.Senders(setupOf(s.Plan(), run), run, file.Machine)
		i := slices.IndexFunc(senders, func(one measure.Sender) bool { return one.Flow == f.Of[0] })
		if i < 0 || len(senders[i].Addresses) == 0 {
			continue
		}
		clock := file.ClockFrom(run.ZeroNs)
		o := plot.Options{OriginNs: clock.ZeroNs, To: time.Duration(run.DurationS * 1e9 * clock.Ratio)}
		flow, err := plottedFlow(ctx, filepath.Join(s.RunDir(run.Run), file.Name), kind, senders[i], o)
		if flow == nil || err != nil {
			return nil, cmp.Or(err, fmt.Errorf("its recording has no connection of %s", f.Of[0]))
		}
		return plot.Figure(kind, []*plot.FlowSeries{flow}, o)
	}
	return nil, fmt.Errorf("it has no recording of the sender of %s", f.Of[0])
}

// plottedFlow reads the busiest connection of a sender; nil if the recording has none.
func plottedFlow(
	ctx context.Context, path string, kind plot.Kind, sender measure.Sender, o plot.Options,
) (flow *plot.FlowSeries, err error) {
	file, err := trace.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	acked := []tcp.Field{tcp.AckedBytes}
	find := plot.NewFieldSeries(acked, o)
	if err := file.Scan(ctx, trace.ScanOptions{Fields: acked}, find); err != nil {
		return nil, err
	}
	found := busiest(find.Flows(), sender)
	if found == nil {
		return nil, nil
	}
	series := plot.NewSeries([]plot.Kind{kind}, []tcp.FlowID{found.Flow.ID}, o)
	if err := file.Scan(ctx, trace.ScanOptions{Fields: kind.Fields()}, series); err != nil {
		return nil, err
	}
	return series.Flows()[0], nil
}

// fromCapture draws the connection of a flow with the most data, as the first capture saw it.
func (s *selection) fromCapture(
	ctx context.Context, run *result.Result, f plan.Figure,
) (*figure.Figure, error) {
	kind, err := plot.ParsePacketKind(string(f.Plot))
	if err != nil {
		return nil, err
	}
	if len(run.Captures) == 0 {
		return nil, errors.New("it has no capture")
	}
	i := slices.IndexFunc(run.Flows, func(one result.Flow) bool { return one.Name == f.Of[0] })
	if i < 0 {
		return nil, fmt.Errorf("it has no flow %s", f.Of[0])
	}
	port := run.Flows[i].Port
	path := filepath.Join(s.RunDir(run.Run), run.Captures[0].Name)
	var id, most uint64
	err = analyse(ctx, path, conn.Options{Done: func(c *conn.Connection) error {
		if (c.Server.Port() == port || c.Client.Port() == port) && c.Bytes() >= most {
			id = c.ID
			most = c.Bytes()
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	series := &plot.PacketSeries{ID: id}
	if err := analyse(ctx, path, conn.Options{Observer: series}); err != nil {
		return nil, err
	}
	return series.Figure(kind)
}

// analyse reads a whole capture.
func analyse(ctx context.Context, path string, o conn.Options) error {
	r, err := read.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = conn.Run(ctx, r, o)
	return err
}
