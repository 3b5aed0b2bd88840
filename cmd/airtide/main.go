// Command airtide shows, explains and shares TCP on wireless terminals. Each verb is one file. A
// verb parses its flags, calls one package and prints text or JSON.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"airtide/internal/cell"
	"airtide/internal/cell/engine"
	lab "airtide/internal/lab/run"
	"airtide/internal/view/terminal"
)

func main() {
	lab.ServeGuest()
	if engine.IsEngine() {
		os.Exit(engine.Main(cell.Build))
	}
	log.SetOutput(io.Discard) // libraries print nothing: their errors are printed once
	t := terminal.New(os.Stdout, os.Stderr, os.Getenv)
	t.NameOnOneLine(os.Args[1:])
	root := newRoot(t)
	addCompletion(root)
	confineReaders(t, root)
	help := &firstError{Writer: t.Out}
	root.SetOut(help)
	cmd, err := root.ExecuteContextC(untilSignal())
	if err == nil {
		err = help.err
	}
	os.Exit(finish(t, cmd, err))
}

// addCompletion adds cobra's verb early, so that its shells refuse arguments as other verbs do.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = unknownShell
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range c.Commands() {
				shell.Args = noArgs
			}
		}
	}
}

// firstError keeps the first error of writing, because cobra drops the errors of its help.
type firstError struct {
	io.Writer
	err error
}

func (w *firstError) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// untilSignal returns a context that ends with a signal, so that each verb can restore its changes.
// A second signal ends the program at once. A pipe whose reader has gone is an error of the writer.
func untilSignal() context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if s != syscall.SIGHUP || !signal.Ignored(s) { // nohup ignores it
			signal.Notify(signals, s)
		}
	}
	go func() {
		s := <-signals
		signal.Stop(signals)
		end(interruption{s.(syscall.Signal)})
	}()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return ctx
}

func newRoot(t *terminal.Terminal) *cobra.Command {
	root := &cobra.Command{
		Use:   "airtide",
		Short: "See and record TCP inside an unmodified kernel; experiment with it over an emulated Wi-Fi cell",
		Long: `airtide sees TCP inside an unmodified kernel, per ACK, records it, and experiments with it.

  airtide doctor                            show what this machine can do
  airtide monitor                           watch all connections live
  airtide record -o a.atr -- curl -O URL    record the connections of one command
  airtide info a.atr                        show what is in a recording
  airtide diagnose a.atr                    explain why each connection got its rate
  airtide plot a.atr --flow 1 -o a.png      draw figures
  airtide export a.atr -o a.parquet         convert it for pandas, DuckDB, spreadsheets or Perfetto
  airtide packets a.pcap                    analyse the TCP connections of a capture
  airtide cell run cell.yaml                run an emulated Wi-Fi cell with real TCP
  airtide lab run quickstart                run an experiment: swept, repeated, recorded, judged
  airtide cc load cubic_rtt --pin           load a congestion control in BPF
  airtide tune --port 5201 --cwnd-max 100   set limits on existing and new sockets
  airtide share run --key cell.key          share an access point with other terminals
  airtide timewarp run -N 10 -- COMMAND     run a command in a kernel whose clock runs ten times as fast
  airtide fairness 30 28 9 8 --max 400,500,50,50
                                            judge how terminals share: indices, distance from the optimum

Topics: airtide help fields, events, filters, units, exit-codes, security, services. The command
airtide help topics lists them.`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,

		PersistentPreRunE: checkFlagRules,
	}
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(helpFunc(t, root.HelpFunc()))
	root.SetHelpCommand(newHelp(t))
	group(root, newDoctor(t), newMonitor(t), newRecord(t), newInfo(t), newDiagnose(t), newExport(t), newPlot(t),
		newPackets(t),
		newCell(t), newLab(t), newCC(t), newTune(t), newShare(t), newFairness(t), newTimewarp(t), newVersion(t))
	return root
}
