package timewarp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"text/tabwriter"
	"time"

	"airtide/internal/sys/command"
)

// RunOptions are the options of Run.
type RunOptions struct {
	Ratio   Ratio
	TCP     TCP
	Module  string // the module's file, "" for where FindModule finds it
	Command []string
	// Guardian holds the arguments with which this program calls Guard. Without them the next
	// process has to undo the changes of a killed one.
	Guardian []string
	// Notice is called with the changes of a killed process that were undone before the command
	// began. It may be nil.
	Notice func(*Undone)
}

// Result is the outcome of a command in warped time.
type Result struct {
	Ratio    Ratio   `json:"ratio"`
	RealNs   int64   `json:"real_ns"`        // duration by the scheduler's clock
	WarpedNs int64   `json:"warped_ns"`      // duration by CLOCK_MONOTONIC
	Measured float64 `json:"measured_ratio"` // warped over real
	// Errors came up meanwhile in the network namespace of this process.
	Errors     Errors  `json:"tcp_errors"`
	ExitStatus int     `json:"exit_status"` // the command's; 128 + the signal that ended it
	Undone     *Undone `json:"undone"`
	// RTO is how TCP's retransmission timeout followed N, ScaledCubic whether new connections of
	// the namespace grew by real time.
	RTO         RTO  `json:"rto"`
	ScaledCubic bool `json:"scaled_cubic"`
	// Lacks lists the TCP settings that this kernel does not support.
	Lacks   []string `json:"lacks,omitempty"`
	command string   // its name
}

// Err returns a [command.ExitError] if the command ended with another status than 0.
func (r *Result) Err() error {
	if r.ExitStatus == 0 {
		return nil
	}
	return &command.ExitError{Name: r.command, Code: r.ExitStatus}
}

// killAfter is the time, by the warped clock, that a command has to end after Ctrl-C; then it is
// killed.
const killAfter = time.Minute

// Run loads the module, sets N, runs the command with this process's standard files, and undoes
// everything. If ctx ends, the command gets SIGTERM. If this process is killed, its guardian undoes
// everything; if the guardian was killed too, the next Run, Load, Set or Unload does.
func (k *Kernel) Run(ctx context.Context, o RunOptions) (*Result, error) {
	if err := k.Support(); err != nil {
		return nil, err
	}
	if _, err := exec.LookPath(o.Command[0]); err != nil {
		return nil, fmt.Errorf("the command: %w", err)
	}
	lock, err := k.lock()
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	left, err := k.undoLeft()
	if err != nil {
		return nil, err
	}
	if left != nil && o.Notice != nil {
		o.Notice(left)
	}
	if len(o.Guardian) > 0 {
		g, err := startGuardian(o.Guardian)
		if err != nil {
			return nil, err
		}
		defer g.dismiss()
	}
	if err := k.load(o.Module, true); err != nil {
		return nil, err
	}
	r, runErr := k.inWarpedTime(ctx, o)
	s, err := k.readState()
	if err != nil {
		return r, errors.Join(runErr, err)
	}
	undone, err := k.undo(s)
	if r != nil {
		r.Undone = undone
	}
	return r, errors.Join(runErr, err)
}

// inWarpedTime runs the command between the change to N and its end.
func (k *Kernel) inWarpedTime(ctx context.Context, o RunOptions) (*Result, error) {
	lacks, err := k.set(o.Ratio, o.TCP)
	if err != nil {
		return nil, err
	}
	rto, err := k.RTO()
	if err != nil {
		return nil, err
	}
	errorsBefore, err := k.ReadErrors()
	if err != nil {
		return nil, err
	}
	began, err := k.Now()
	if err != nil {
		return nil, err
	}
	err = command.Run(ctx, o.Command, command.Options{Grace: killAfter})
	exit, failed := errors.AsType[*command.ExitError](err)
	if err != nil && !failed && ctx.Err() == nil {
		return nil, err
	}
	status := 0
	if failed {
		status = exit.Code
	}
	ended, err := k.Now()
	if err != nil {
		return nil, err
	}
	errorsAfter, err := k.ReadErrors()
	if err != nil {
		return nil, err
	}
	real, warped := ended.Since(began)
	return &Result{
		Ratio: o.Ratio, RealNs: int64(real), WarpedNs: int64(warped), Measured: float64(warped) / float64(real),
		Errors: errorsAfter.Since(errorsBefore), ExitStatus: status,
		RTO: rto, ScaledCubic: o.TCP.ScaledCubic, Lacks: lacks, command: o.Command[0],
	}, nil
}

// WriteText prints the result for people.
func (r *Result) WriteText(w io.Writer) error {
	ms := func(ns int64) time.Duration { return time.Duration(ns).Round(time.Millisecond) }
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "ratio %s: %s of real time, %s of the clock (%.4f times)\n", r.Ratio, ms(r.RealNs), ms(r.WarpedNs),
		r.Measured)
	for _, lack := range r.Lacks {
		fmt.Fprintf(t, "not done: %s\n", lack)
	}
	fmt.Fprintln(t, "TCP meanwhile, in this network namespace:")
	for _, kind := range Kinds {
		if n, ok := r.Errors[kind.Name]; ok {
			fmt.Fprintf(t, "  %s\t%d\t%s\n", kind.Name, n, kind.About)
		}
	}
	return t.Flush()
}
