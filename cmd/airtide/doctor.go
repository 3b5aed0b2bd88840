package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/doctor"
	"airtide/internal/kernel/timewarp"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

func newDoctor(t *terminal.Terminal) *cobra.Command {
	var (
		o      doctor.Options
		asJSON jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what this kernel and machine can do, and what is missing",
		Long: `Tries what each verb needs (tracepoints, BPF program types, inet_diag, programs, permissions). For
everything that is missing, it prints the consequence and how to get it. Nothing on the machine is
changed.

The exit status is 1 if no verb that needs the kernel can run.`,
		Example: `  airtide doctor
  airtide doctor --json | jq '.checks[] | select(.status != "ok")'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// If no module is found, the report names the way to build it.
			o.TimewarpModule, _ = timewarp.FindModule(timewarp.Release())
			r, err := doctor.Examine(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				err = t.JSON(r)
			} else {
				var text strings.Builder
				if err = r.WriteText(&text, t.Colour); err == nil {
					err = t.PrintWrapped(units.PrintableText(text.String(), t.Colour), doctorIndent)
				}
			}
			if err != nil {
				return fmt.Errorf("printing the report: %w", err)
			}
			if !r.Usable() {
				return doctor.UnusableError{}
			}
			return nil
		},
	}
	asJSON.register(cmd.Flags(), "print the report as JSON")
	cmd.Flags().StringVar(&o.BTFPath, "btf", "", "file with the kernel's BTF, if the kernel has none")
	return cmd
}

// doctorIndent is the width of the states in front of the names.
const doctorIndent = 14
