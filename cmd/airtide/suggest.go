package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"airtide/internal/units"
)

// unknownVerb refuses a verb that does not exist and suggests the nearest one.
func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("unknown verb %q%s", args[0], suggestion("", args[0], verbNames(cmd)))}
}

// unknownShell refuses a shell without completion and suggests the nearest one.
func unknownShell(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	shells := verbNames(cmd)
	return usageError{fmt.Errorf("unknown shell %q: want one of %s%s", args[0], strings.Join(shells, ", "),
		suggestion("", args[0], shells))}
}

// verbNames returns the names of the verbs below a command.
func verbNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// flagError adds the nearest flag to the error of an unknown flag, and words wrong values plainly.
func flagError(cmd *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return usageError{fmt.Errorf("--%s %q: want %s", wrong.GetFlag().Name, wrong.GetValue(), wanted(wrong))}
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return usageError{err}
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return usageError{fmt.Errorf("%w%s", err, suggestion("--", unknown.GetSpecifiedName(), names))}
}

// wanted describes the values that a flag takes.
func wanted(wrong *pflag.InvalidValueError) string {
	if syntax, ok := errors.AsType[*units.SyntaxError](wrong); ok {
		return syntax.Want()
	}
	switch wrong.GetFlag().Value.Type() {
	case "bool":
		return "true or false"
	case "int":
		return "a whole number"
	case "uint":
		return "a whole number of at least 0"
	case "uint16":
		return fmt.Sprintf("a whole number from 0 to %d", math.MaxUint16)
	case "uint32":
		return fmt.Sprintf("a whole number from 0 to %d", math.MaxUint32)
	case "uintSlice":
		return "whole numbers, separated by commas"
	case "stringSlice":
		return "values separated by commas, without quotation marks"
	}
	return wrong.Unwrap().Error()
}

// misnamed is a usage error of a name that does not exist, with the nearest of the existing names.
func misnamed(err error, name string, names []string) error {
	return usageError{fmt.Errorf("%w%s", err, suggestion("", name, names))}
}

// suggestion is " (did you mean PREFIX NAME?)" with the nearest name, or empty.
func suggestion(prefix, text string, names []string) string {
	if best := units.Nearest(text, names); best != "" {
		return " (did you mean " + prefix + best + "?)"
	}
	return ""
}
