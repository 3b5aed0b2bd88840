package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"airtide/internal/diagnose"
	"airtide/internal/observe/source"
	"airtide/internal/recording/record"
	"airtide/internal/recording/trace"
	"airtide/internal/sys/privilege"
	"airtide/internal/tcp"
	"airtide/internal/view/terminal"
)

// observe explains the connections of a command, or all of this host while they last.
func (o *diagnoseFlags) observe(ctx context.Context, t *terminal.Terminal, command []string) error {
	live := &liveEngine{}
	started := make(chan struct{})
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var printer sync.WaitGroup
	var printErr error
	if o.live {
		printer.Go(func() {
			printErr = o.answers(ctx, t, live, started)
			stop()
		})
	}
	result, err := record.Run(ctx, record.Options{
		Path: o.output, Sink: live.begin, Observe: o.monitor, Tool: version(), Duration: o.duration, Command: command,
		Notice: func(line string) { t.Warnf("%s", line) },
		Started: func(s *source.Opened) error {
			err := privilege.Drop(recordingRights(s, o.monitor.AllNamespaces, len(command) > 0))
			close(started)
			return err
		},
	})
	stop()
	printer.Wait()
	if result == nil || printErr != nil {
		return errors.Join(err, printErr)
	}
	if printErr = o.answer(t, live); printErr != nil {
		return errors.Join(err, printErr)
	}
	if result.Flows == 0 && !o.json {
		t.Notef("no TCP connection was seen")
	}
	printLoss(t, &result.Loss)
	if err == nil && result.CommandError != "" {
		t.Warnf("the command failed: %s", result.CommandError)
		err = exitStatus(result.CommandStatus)
	}
	return err
}

// answers prints an answer each interval, from the start of the observation.
func (o *diagnoseFlags) answers(
	ctx context.Context, t *terminal.Terminal, live *liveEngine, started <-chan struct{},
) error {
	select {
	case <-ctx.Done():
		return nil
	case <-started:
	}
	ticker := time.NewTicker(o.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := o.answer(t, live); err != nil {
			return err
		}
	}
}

// answer prints the findings so far.
func (o *diagnoseFlags) answer(t *terminal.Terminal, live *liveEngine) error {
	report := live.report()
	if o.json {
		print := t.JSON
		if o.live {
			print = t.JSONLine
		}
		return print(observedDiagnosis{report, report.Groups()})
	}
	var text bytes.Buffer
	if o.live {
		fmt.Fprintf(&text, "%s\n", time.Now().Format("15:04:05"))
	}
	if err := o.print(t, &text, &report); err != nil {
		return err
	}
	return t.Print([]byte("\n"))
}

// observedDiagnosis is the JSON of an observation.
type observedDiagnosis struct {
	diagnose.Report
	Short []diagnose.Group `json:"short_connections"`
}

// liveEngine is an engine that is read while it is fed.
type liveEngine struct {
	tcp.Locked
	engine *diagnose.Engine // nil before the observation has begun
}

// begin makes the engine for a source.
func (l *liveEngine) begin(m trace.Metadata) tcp.Sink {
	_ = l.Do(func() error {
		l.engine = diagnose.New(diagnoseOptions(m))
		l.Sink = l.engine
		return nil
	})
	return l
}

func (l *liveEngine) report() (r diagnose.Report) {
	_ = l.Do(func() error {
		engine := l.engine
		if engine == nil {
			engine = diagnose.New(diagnose.Options{})
		}
		r = engine.Report()
		return nil
	})
	return r
}
