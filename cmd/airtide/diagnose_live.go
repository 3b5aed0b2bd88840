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
	mu     sync.Mutex
	engine *diagnose.Engine // nil before the observation has begun
}

// begin makes the engine for a source.
func (l *liveEngine) begin(m trace.Metadata) tcp.Sink {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.engine = diagnose.New(diagnoseOptions(m))
	return l
}

func (l *liveEngine) report() diagnose.Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.engine == nil {
		return diagnose.New(diagnose.Options{}).Report()
	}
	return l.engine.Report()
}

// Flow takes a flow.
func (l *liveEngine) Flow(f *tcp.Flow) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.engine.Flow(f)
}

// Samples takes a batch.
func (l *liveEngine) Samples(b *tcp.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.engine.Samples(b)
}

// Event takes an event.
func (l *liveEngine) Event(e *tcp.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.engine.Event(e)
}

// Lost takes counts.
func (l *liveEngine) Lost(loss *tcp.Loss) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.engine.Lost(loss)
}

// Radio takes a record about a radio.
func (l *liveEngine) Radio(r *tcp.Radio) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.engine.Radio(r)
}
