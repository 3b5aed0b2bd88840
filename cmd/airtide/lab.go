package main

import (
	"github.com/spf13/cobra"
)

const labLong = `An experiment is a YAML file: terminals, access point, path, servers, traffic, what is varied, what is measured, and
what is claimed. airtide runs it with the kernel's own TCP over an emulated cell, and keeps everything that was seen.

EXPERIMENT is a file, or the name of one that comes with airtide (airtide lab list). RESULT is the folder of a result, or
the name of an experiment, for its newest result.`

func newLab() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Run experiments over an emulated Wi-Fi cell, and judge them",
		Long:  labLong,
		Example: `  airtide lab list                       experiments and results
  airtide lab check my.yaml              is the file right?
  airtide lab run my.yaml --dry-run      what would be done, and how long it takes
  airtide lab run my.yaml                do it
  airtide lab resume RESULT              do what is missing
  airtide lab show RESULT                tables, claims, figures
  airtide lab compare RESULT RESULT      what differs`,
		Args: func(_ *cobra.Command, args []string) error { return unknownVerb(args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLabCheck(), newLabList(), newLabRun(), newLabResume(), newLabShow(), newLabCompare())
	return cmd
}
