package main

import (
	"github.com/spf13/cobra"

	"airtide/internal/view/terminal"
)

const labLong = `An experiment is a YAML file: terminals, access point, path, servers, traffic, sweeps, measurements
and claims. airtide runs it with the kernel's own TCP over an emulated cell and keeps all
recordings.

EXPERIMENT is a file, or the name of an experiment that comes with airtide (airtide lab list).
RESULT is the folder of a result, or the name of an experiment for its newest result.`

func newLab(t *terminal.Terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Run experiments over an emulated Wi-Fi cell, and judge them",
		Long:  labLong,
		Example: `  airtide lab list                       list experiments and results
  airtide lab check my.yaml              check the file
  airtide lab run my.yaml --dry-run      print the plan and its duration
  airtide lab run my.yaml                run the experiment
  airtide lab resume RESULT              run the missing runs
  airtide lab show RESULT                print tables and claims, draw figures
  airtide lab compare RESULT RESULT      print the differences`,
	}
	return group(cmd, newLabCheck(t), newLabList(t), newLabRun(t), newLabResume(t), newLabShow(t), newLabCompare(t))
}
