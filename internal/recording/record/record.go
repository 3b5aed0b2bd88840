// Package record makes a recording. It opens a monitor and writes its data into a trace. It stops
// at a signal, after a time, or when its command has ended.
package record

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"sync"
	"time"

	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/observe/source"
	"airtide/internal/recording/trace"
	"airtide/internal/sys/command"
	"airtide/internal/tcp"
)

// Options select the data to record and the file.
type Options struct {
	// Path is the file. It may be empty if there is a Sink.
	Path      string
	Overwrite bool
	// Sink makes a sink that also gets all data; nil for none. It is called once, with the
	// description of the recording.
	Sink func(trace.Metadata) tcp.Sink
	// Stream takes the recording instead of the file. Path is its name for messages then.
	Stream  io.Writer
	Observe source.Options
	// Tool is the version of the program, and Label is the user's note. Both are stored in the
	// recording.
	Tool  string
	Label string
	// Duration limits the recording; 0 means no limit.
	Duration time.Duration
	// Command is a command to run. Its end ends the recording. Only its connections are recorded
	// unless All is set.
	Command []string
	All     bool
	// OutputToError sends the command's standard output to standard error.
	OutputToError bool
	// OmitArguments keeps only the command's name in the recording: its arguments may be secret.
	OmitArguments bool
	// Notice gets messages for the user. Progress is called about once a second. Begun is called
	// once, when everything from then on is recorded. Started is called once, when also the command
	// runs: from then on no new file, program or observation begins. All may be nil.
	Notice   func(string)
	Progress func(Progress)
	Begun    func()
	Started  func(*source.Opened) error
}

// Progress is the progress of a recording.
type Progress struct {
	Elapsed time.Duration
	Flows   int
	Samples uint64
	Events  uint64
	Bytes   int64
	Loss    tcp.Loss
}

// Result describes a recording after its end.
type Result struct {
	Path      string   `json:"path"`
	Source    string   `json:"source"`
	DurationS float64  `json:"duration_s"`
	Flows     int      `json:"flows"`
	Samples   uint64   `json:"samples"`
	Events    uint64   `json:"events"`
	Bytes     int64    `json:"bytes"`
	Loss      tcp.Loss `json:"loss"`
	// CommandError is the error of a failed command; empty without a failure.
	CommandError string `json:"command_error,omitempty"`
	// CommandStatus is the exit status of a command that failed, 0 otherwise.
	CommandStatus int `json:"command_status,omitempty"`
}

// settle is the time of recording after the end of the command, for the last segments of its
// connections.
const settle = 250 * time.Millisecond

// Run records until ctx ends, the time is over, or the command has ended. The result is valid if
// something was recorded, even with an error such as a full disk.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if err := findCommand(o.Command); err != nil {
		return nil, err
	}
	group, err := commandGroup(&o)
	if err != nil {
		return nil, err
	}
	if group != nil {
		defer func() {
			if err := group.Remove("a later recording"); err != nil {
				o.Notice(err.Error())
			}
		}()
	}
	opened, err := source.Open(o.Observe)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	if notice := opened.FallbackNotice(); notice != "" {
		o.Notice(notice)
	}
	if notice := opened.RadioNotice(); notice != "" {
		o.Notice(notice)
	}
	s := &session{options: o, started: time.Now(), flushed: time.Now()}
	description := metadata(o, opened)
	if o.Sink != nil {
		s.sink = o.Sink(description)
	}
	if o.Path != "" {
		s.writer, err = newWriter(o, description)
		if err != nil {
			return nil, err
		}
	}
	if o.Begun != nil {
		o.Begun()
	}
	runErr := s.run(ctx, opened, group)
	var closeErr error
	if s.writer != nil {
		closeErr = s.writer.Close()
	}
	if errors.Is(runErr, closeErr) { // a writer that has failed says the same again
		closeErr = nil
	}
	return s.result(opened.Description(), errors.Join(runErr, closeErr))
}

func newWriter(o Options, m trace.Metadata) (*trace.Writer, error) {
	if o.Stream != nil {
		return trace.Stream(o.Path, o.Stream, m)
	}
	return trace.Create(o.Path, m, trace.Options{Overwrite: o.Overwrite})
}

// flushTime is the longest time before received data is written. The bpf source requests it more
// often through its lost counts; diag has none, and may deliver nothing for a long time.
const flushTime = 800 * time.Millisecond

// session is a running recording. It is the sink between the source and the trace.
type session struct {
	options    Options
	started    time.Time
	commandErr error

	mu      sync.Mutex    // the source delivers while keep writes down
	writer  *trace.Writer // nil without a file
	sink    tcp.Sink      // nil without one
	flushed time.Time
	highest tcp.FlowID // sources number the flows in the order of their first descriptions
	flows   int
	samples uint64
	events  uint64
	loss    tcp.Loss
}

func (s *session) run(ctx context.Context, opened *source.Opened, group *owner.Group) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if s.options.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.options.Duration)
		defer cancel()
	}
	running, err := startCommand(ctx, &s.options, group)
	if err != nil {
		return err
	}
	if s.options.Started != nil {
		if err := s.options.Started(opened); err != nil {
			stop()
			if running != nil {
				_ = running.Wait()
			}
			return err
		}
	}
	commandDone := make(chan error, 1)
	if running != nil {
		go func() {
			err := running.Wait()
			time.Sleep(settle)
			if errors.Is(err, exec.ErrWaitDelay) || ctx.Err() != nil && killedBySignal(err) {
				err = nil // we ended it
			}
			commandDone <- err
			stop()
		}()
	}
	var flusher sync.WaitGroup
	flusher.Go(func() { s.keep(ctx, stop) })
	err = opened.Run(ctx, s)
	stop()
	flusher.Wait()
	if running != nil {
		s.commandErr = <-commandDone
	}
	return err
}

// result sums up a recording that ended with an error, or nil. After an error of the writer it
// counts the content of the file.
func (s *session) result(source string, err error) (*Result, error) {
	r := &Result{
		Path: s.options.Path, Source: source, DurationS: time.Since(s.started).Seconds(), Flows: s.flows,
		Samples: s.samples, Events: s.events, Bytes: s.bytes(), Loss: s.loss,
	}
	if err != nil && s.writer != nil && s.options.Stream == nil {
		r.recount(err)
	}
	if s.commandErr != nil {
		r.CommandError = s.commandErr.Error()
		r.CommandStatus = 1
		var exit *exec.ExitError
		if errors.As(s.commandErr, &exit) {
			r.CommandStatus = command.Status(exit.ProcessState)
		}
	}
	return r, err
}

// recount replaces the counts by those of the file.
func (r *Result) recount(err error) {
	var moved *trace.MovedError
	if errors.As(err, &moved) { // it is whole, elsewhere
		return
	}
	var c counter
	r.Bytes = 0
	if !errors.Is(err, trace.ErrDeleted) {
		if file, err := trace.Open(r.Path); err == nil {
			defer file.Close()
			_ = file.Scan(context.Background(), trace.ScanOptions{Fields: []tcp.Field{}}, &c)
			r.Bytes = file.Size()
		}
	}
	r.Flows = len(c.flows)
	r.Samples = c.samples
	r.Events = c.events
}

// counter is a sink that counts.
type counter struct {
	tcp.Discard
	flows           map[tcp.FlowID]bool
	samples, events uint64
}

func (c *counter) Flow(f *tcp.Flow) error {
	if c.flows == nil {
		c.flows = map[tcp.FlowID]bool{}
	}
	c.flows[f.ID] = true
	return nil
}

func (c *counter) Samples(b *tcp.Batch) error {
	c.samples += uint64(b.Len())
	return nil
}

func (c *counter) Event(*tcp.Event) error {
	c.events++
	return nil
}

// bytes is the size of the file.
func (s *session) bytes() int64 {
	if s.writer == nil {
		return 0
	}
	return s.writer.Stats().Bytes
}

// deliver passes data to the file and to the sink.
func (s *session) deliver(to func(tcp.Sink) error) error {
	if s.writer != nil {
		if err := to(s.writer); err != nil {
			return err
		}
	}
	if s.sink != nil {
		return to(s.sink)
	}
	return nil
}

// Flow writes a flow's definition.
func (s *session) Flow(f *tcp.Flow) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.ID > s.highest {
		s.highest = f.ID
		s.flows++
	}
	return s.deliver(func(to tcp.Sink) error { return to.Flow(f) })
}

// Samples writes a batch.
func (s *session) Samples(b *tcp.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples += uint64(b.Len())
	return s.deliver(func(to tcp.Sink) error { return to.Samples(b) })
}

// Event writes an event.
func (s *session) Event(e *tcp.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events++
	return s.deliver(func(to tcp.Sink) error { return to.Event(e) })
}

// Lost writes the counts and all data before them.
func (s *session) Lost(l *tcp.Loss) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loss = *l
	s.loss.PerCPU = append([]uint64(nil), l.PerCPU...)
	if err := s.deliver(func(to tcp.Sink) error { return to.Lost(l) }); err != nil {
		return err
	}
	return s.flush()
}

// Radio writes a record about a radio.
func (s *session) Radio(r *tcp.Radio) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deliver(func(to tcp.Sink) error { return to.Radio(r) })
}

// keep flushes data that nothing else has flushed for flushTime, until ctx ends. If that fails, it
// stops the recording; the writer returns the error at its next call.
func (s *session) keep(ctx context.Context, stop func()) {
	timer := time.NewTimer(flushTime)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		s.mu.Lock()
		wait := time.Until(s.flushed.Add(flushTime))
		if wait <= 0 {
			if s.flush() != nil {
				stop()
			}
			wait = flushTime
		}
		s.mu.Unlock()
		timer.Reset(wait)
	}
}

// flush writes the received data, so that a kill does not lose it, and reports the progress.
func (s *session) flush() error {
	s.flushed = time.Now()
	if s.writer != nil {
		if err := s.writer.Flush(); err != nil {
			return err
		}
	}
	if s.options.Progress != nil {
		s.options.Progress(Progress{
			Elapsed: time.Since(s.started), Flows: s.flows, Samples: s.samples, Events: s.events,
			Bytes: s.bytes(), Loss: s.loss,
		})
	}
	return nil
}

func killedBySignal(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == -1
}

// metadata describes the recording for the trace's header.
func metadata(o Options, opened *source.Opened) trace.Metadata {
	m := trace.HostMetadata()
	m.Tool = o.Tool
	m.Label = o.Label
	m.Command = o.Command
	if o.OmitArguments && len(o.Command) > 0 {
		m.Command = o.Command[:1]
	}
	m.SourceDetail = opened.Description()
	m.Source = string(opened.Kind)
	m.HZ = opened.HZ
	m.Density = o.Observe.Density.String()
	m.Filter = o.Observe.Filter
	m.With = opened.With(o.Observe.With)
	m.IntervalNs = opened.Interval.Nanoseconds()
	return m
}
