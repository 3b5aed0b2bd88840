package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airtide/experiments"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// readExperiment reads an experiment from a file or, by name, from the experiments inside airtide.
func readExperiment(arg string) ([]byte, error) {
	data, err := os.ReadFile(arg)
	if err == nil {
		return data, nil
	}
	if errors.Is(err, fs.ErrNotExist) && !strings.Contains(arg, "/") {
		own, ownErr := experiments.Read(strings.TrimSuffix(arg, experiments.Ending))
		if ownErr == nil {
			return own, nil
		}
		return nil, fmt.Errorf("%s is neither a file nor an experiment that comes with airtide%s: "+
			"airtide lab list shows them", arg, suggestion("", arg, experiments.Names()))
	}
	return nil, fmt.Errorf("reading an experiment: %w", err)
}

func readPlan(arg string) (*plan.Plan, error) {
	data, err := readExperiment(arg)
	if err != nil {
		return nil, err
	}
	return plan.Read(arg, data)
}

func completeExperiment(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return experiments.Names(), cobra.ShellCompDirectiveDefault
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
	all, err := result.List(root)
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
func (f resultsFlag) find(arg string) (string, error) {
	if _, err := os.Stat(filepath.Join(arg, "experiment.yaml")); err == nil {
		return arg, nil
	}
	if strings.Contains(arg, "/") {
		return "", fmt.Errorf("%s is not the folder of a result", arg)
	}
	return result.Latest(string(f), strings.TrimSuffix(arg, experiments.Ending))
}
