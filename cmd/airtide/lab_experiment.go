package main

import (
	"slices"

	"github.com/spf13/cobra"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

func completeExperiment(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return plan.Experiments(), cobra.ShellCompDirectiveDefault
}

// completeResult completes one argument by completeResults.
func completeResult(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeResults(cmd, args, word)
}

// completeResults completes the experiments with results, and the folders of the results.
func completeResults(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	root, err := cmd.Flags().GetString("results")
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	all, err := result.List(cmd.Context(), root)
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names, folders []string
	for _, e := range all {
		if !slices.Contains(names, e.Experiment) {
			names = append(names, e.Experiment)
		}
		folders = append(folders, e.Dir)
	}
	return append(names, folders...), cobra.ShellCompDirectiveDefault
}

// resultsFlag is the folder that holds the folders of results.
type resultsFlag string

func (f *resultsFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP((*string)(f), "results", "o", "results", "folder of all results")
	_ = cmd.MarkFlagDirname("results")
}

// find returns the folder of a result: the argument itself, or the newest result of an experiment.
func (f resultsFlag) find(arg string) (string, error) { return result.Find(string(f), arg) }
