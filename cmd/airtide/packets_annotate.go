package main

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"airtide/internal/packets/annotate"
	"airtide/internal/packets/join"
	"airtide/internal/packets/read"
	"airtide/internal/recording/trace"
	"airtide/internal/sys/file"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/capture"
	"airtide/internal/view/terminal"
)

func newPacketsAnnotate(t *terminal.Terminal) *cobra.Command {
	var (
		chosen captureFlags
		out    outputFlags
	)
	cmd := &cobra.Command{
		Use:   "annotate FILE RECORDING -o COPY",
		Short: "Copy a capture with the sender's recorded state as comments",
		Long: `Copies a capture to a pcapng whose packet comments hold the sender's state, from a recording of the
same transfer: cwnd, congestion state, and the cause of a retransmission. Wireshark and tshark show
them.`,
		Example: `  airtide packets annotate upload.pcap upload.atr -o annotated.pcapng`,
		Args:    exactArgs("FILE", "RECORDING"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out.path == "" {
				return usageError{errors.New("no output file: give one with -o FILE.pcapng")}
			}
			v, err := chosen.viewer(cmd, t, args[0])
			if err != nil {
				return err
			}
			v.Recording = args[1]
			n, err := annotatable(cmd.Context(), t, args[1])
			if err != nil {
				return err
			}
			return annotateCapture(cmd.Context(), v, n, out)
		},
	}
	out.register(cmd.Flags(), "pcapng to write, or - for standard output (required)")
	chosen.registerOpen(cmd)
	_ = cmd.MarkFlagFilename("output", "pcapng")
	return cmd
}

// annotatable reads what comments need of a recording.
func annotatable(ctx context.Context, t *terminal.Terminal, path string) (*capture.Notes, error) {
	r, err := openTrace(ctx, t, path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m := r.Metadata()
	n := &capture.Notes{
		History: annotate.History{WallNs: m.WallNs},
		Flows:   join.Recording{WallNs: m.WallNs},
	}
	fields := slices.Concat(annotate.Fields(), join.Fields())
	slices.Sort(fields)
	o := trace.ScanOptions{Fields: slices.Compact(fields)}
	if err := r.scan(ctx, "reading", o, tcp.Tee{&n.History, &n.Flows}); err != nil {
		return nil, err
	}
	r.warnDamage()
	debug.SetMemoryLimit(smallMemory) // also beside a large recording
	return n, nil
}

// annotateCapture writes the copy. It leaves no half of a copy, and names a whole one.
func annotateCapture(ctx context.Context, v *capture.Viewer, n *capture.Notes, out outputFlags) error {
	if out.path == "-" {
		_, err := v.Annotate(ctx, n, func() (io.Writer, error) { return v.Terminal.Raw(), nil })
		return err
	}
	var to *file.Output
	counts, damage := v.Annotate(ctx, n, func() (w io.Writer, err error) {
		to, err = file.Create(out.path, out.force)
		return to, err
	})
	if _, damaged := errors.AsType[*read.Damage](damage); damage != nil && !damaged {
		if to != nil {
			to.Discard()
		}
		return damage
	}
	if err := to.Commit(); err != nil {
		return err
	}
	return errors.Join(v.Terminal.Printf("%s  %s\n", units.Printable(out.path), counts), damage)
}
