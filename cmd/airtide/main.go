// Command airtide shows, explains and shares TCP on wireless terminals. Each verb is one file; a verb parses its flags,
// calls one package and prints.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"airtide/internal/cell"
	"airtide/internal/cell/engine"
	lab "airtide/internal/lab/run"
	"airtide/internal/vm"
)

// Exit statuses, the same for every verb.
const (
	exitFailed = 1 // it did not work
	exitMisuse = 2 // wrong flags or arguments
)

// misuse marks an error as the user's: it ends with status 2 and a hint at --help.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

func main() {
	if vm.IsGuest() {
		vm.Main(lab.GuestFunctions())
	}
	if engine.IsEngine() {
		os.Exit(engine.Main(cell.Build))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second Ctrl-C ends at once: the first one has restored the default.
	go func() { <-ctx.Done(); stop() }()
	root := newRoot()
	cmd, err := root.ExecuteContextC(ctx)
	os.Exit(finish(cmd, err))
}

// finish prints the error and chooses the exit status.
func finish(cmd *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	var status exitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	fmt.Fprintf(os.Stderr, "airtide: %v\n", err)
	var m misuse
	if errors.As(err, &m) {
		fmt.Fprintf(os.Stderr, "See '%s --help'.\n", cmd.CommandPath())
		return exitMisuse
	}
	return exitFailed
}

// exitStatus ends with a status when everything has been said already.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "airtide",
		Short: "See and record TCP inside an unmodified kernel; experiment with it over an emulated Wi-Fi cell",
		Long: `airtide sees TCP inside an unmodified kernel, per ACK, records it, and experiments with it.

  airtide doctor                            what this machine can do
  airtide monitor                           watch all connections live
  airtide record -o a.atr -- curl -O URL    record one command's connections
  airtide info a.atr                        what is in a recording
  airtide plot a.atr --flow 1 -o a.png      figures
  airtide export a.atr --to parquet -o a.parquet
  airtide cell run cell.yaml                an emulated Wi-Fi cell with real TCP
  airtide lab run quickstart                an experiment: swept, repeated, recorded, judged
  airtide cc load cubic_rtt --pin           a congestion control in BPF
  airtide tune --port 5201 --cwnd-max 100   limits on sockets that are there and that begin
  airtide timewarp run -N 10 -- COMMAND     a command in a kernel whose clock runs ten times as fast
  airtide fairness 30 28 9 8 --max 400,500,50,50
                                            how terminals share: indices, distance from the optimum`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          func(_ *cobra.Command, args []string) error { return unknownVerb(args) },
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return misuse{err} })
	root.AddCommand(newDoctor(), newMonitor(), newRecord(), newInfo(), newExport(), newPlot(), newCell(), newLab(), newCC(), newTune(), newShare(), newFairness(), newTimewarp())
	return root
}

func unknownVerb(args []string) error {
	if len(args) > 0 {
		return misuse{fmt.Errorf("unknown verb %q", args[0])}
	}
	return nil
}

// exactArgs asks for n arguments, named in the message.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return misuse{fmt.Errorf("missing argument %s", names[len(args)])}
		}
		if len(args) > len(names) {
			return misuse{fmt.Errorf("unexpected argument %q", args[len(names)])}
		}
		return nil
	}
}
