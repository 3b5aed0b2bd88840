package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"airtide/internal/doctor"
	"airtide/internal/kernel/timewarp"
)

func newDoctor() *cobra.Command {
	var (
		o      doctor.Options
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what this kernel and machine can do, and what is missing",
		Long: `Tries what each verb needs (tracepoints, BPF program types, inet_diag, programs, permissions) and tells what is
missing, what that costs, and how to get it. Nothing on the machine is changed.

Exit status 1 when nothing that needs the kernel can run.`,
		Example: `  airtide doctor
  airtide doctor --json | jq '.checks[] | select(.status != "ok")'`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Where there is none, the report says how to get one.
			o.TimewarpModule, _ = timewarp.FindModule(timewarp.Release())
			r, err := doctor.Examine(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), r)
			} else {
				err = r.WriteText(cmd.OutOrStdout(), useColor(os.Stdout))
			}
			if err != nil {
				return fmt.Errorf("printing the report: %w", err)
			}
			return reportStatus(r)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().StringVar(&o.BTFPath, "btf", "", "file with the kernel's BTF, where the kernel has none")
	return cmd
}

// reportStatus makes the exit status of a report that has been printed: scripts ask by it whether the machine is of any use.
func reportStatus(r *doctor.Report) error {
	if r.Usable() {
		return nil
	}
	return exitStatus(exitFailed)
}
