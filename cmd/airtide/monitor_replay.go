package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/screen"
	"airtide/internal/view/terminal"
)

// replayFlags are the flags of monitor with a recording.
type replayFlags struct {
	speed float64
	from  time.Duration
}

func (f *replayFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.Var(units.NumberFlag(&f.speed), "speed",
		"with FILE: recorded seconds per second (default 1, in a pipe as fast as possible)")
	durationVar(fl, &f.from, "from", "", 0, "with FILE: begin at this time of the recording")
}

// check refuses flags that do not belong together.
func (f *replayFlags) check(cmd *cobra.Command, file bool) error {
	if !file {
		for _, name := range []string{"speed", "from"} {
			if cmd.Flags().Changed(name) {
				return usageError{fmt.Errorf("--%s needs a recording: airtide monitor FILE", name)}
			}
		}
		return nil
	}
	for _, name := range liveFlags {
		if cmd.Flags().Changed(name) {
			return usageError{fmt.Errorf("--%s is for a live observation, not for a recording", name)}
		}
	}
	if cmd.Flags().Changed("speed") && f.speed == 0 {
		return usageError{errors.New("--speed 0: want a number above 0")}
	}
	if f.from < 0 {
		return usageError{fmt.Errorf("--from %s: want a time since the first record", f.from)}
	}
	return nil
}

// replay shows a recording as watch shows a live source.
func replay(
	ctx context.Context, t *terminal.Terminal, path string, f *replayFlags, chosen recordedFilter, o screen.Options,
	asJSON bool,
) error {
	r, err := openTrace(ctx, t, path)
	if err != nil {
		return err
	}
	defer r.Close()
	flows, err := chosen.flows(ctx, r)
	if err != nil {
		return err
	}
	between := &timeSpan{}
	fields := []tcp.Field{}
	err = r.scan(ctx, "looking through", trace.ScanOptions{Fields: fields, Flows: flows}, between)
	if err != nil {
		return err
	}
	if !between.any {
		return fmt.Errorf("%s has no sample and no event to replay", path)
	}
	meta := r.Metadata()
	density, err := filter.ParseDensity(meta.Density)
	if err != nil {
		density = filter.Density{} // the density is of a later version
	}
	table := screen.NewTable(screen.TableOptions{
		SampleEvery: max(density.Every, time.Duration(meta.IntervalNs)), Diagnosis: diagnoseOptions(meta),
	})
	table.SetSource(screen.Source{Name: path})
	speed := f.speed
	full := !asJSON && !o.Once && t.Screen
	if full && speed == 0 {
		speed = 1
	}
	whole := false
	o.Player = screen.NewPlayer(table, screen.PlayerOptions{
		Scan: func(ctx context.Context, sink tcp.Sink) error {
			err := r.Scan(ctx, trace.ScanOptions{Flows: flows}, sink)
			whole = err == nil
			return err
		},
		StartNs: between.first, EndNs: between.last, FromNs: between.first + f.from.Nanoseconds(), Speed: speed,
		Wall: time.Unix(0, meta.WallNs(between.first)),
	})
	switch {
	case asJSON:
		err = screen.JSONLines(ctx, table, o)
	case !full:
		err = screen.Plain(ctx, table, o)
	default:
		o.Output = t.Raw()
		err = screen.Run(ctx, table, o)
	}
	if every := o.Player.Stretched(); every > 0 && err == nil && ctx.Err() == nil {
		t.Warnf("%s has many flows for its records: printed at last only every %s (--speed prints more)", path, every)
	}
	if whole {
		r.warnDamage() // an interrupted scan has not seen the end
	}
	return err
}

// timeSpan is a sink that finds the times of the first and the last record.
type timeSpan struct {
	tcp.Discard
	first, last int64
	any         bool
}

func (s *timeSpan) see(ns int64) {
	if !s.any {
		s.first = ns
		s.last = ns
		s.any = true
	}
	s.first = min(s.first, ns)
	s.last = max(s.last, ns)
}

func (s *timeSpan) Samples(b *tcp.Batch) error {
	for _, ns := range b.TimeNs {
		s.see(ns)
	}
	return nil
}

func (s *timeSpan) Event(e *tcp.Event) error {
	s.see(e.TimeNs)
	return nil
}
