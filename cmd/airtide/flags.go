package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"airtide/internal/kernel/congestion"
	"airtide/internal/sys/file"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// durationVar adds a flag with a time, in seconds if it has no unit.
func durationVar(fl *pflag.FlagSet, to *time.Duration, name, short string, value time.Duration, usage string) {
	*to = value
	fl.VarP(units.DurationFlag(to), name, short, usage)
}

// refuseNoTime refuses a time of 0 where it would be none: these flags have 0 for no end and for
// the usual interval or limit, which nobody means who writes 0.
func refuseNoTime(cmd *cobra.Command) error {
	for _, name := range []string{"duration", "interval", "lag-limit"} {
		f := cmd.Flags().Lookup(name)
		if f != nil && f.Changed && f.Value.String() == units.DurationFlag(new(time.Duration)).String() {
			return usageError{fmt.Errorf("--%s 0: want a time above 0", name)}
		}
	}
	return nil
}

// jsonFlag is --json.
type jsonFlag bool

func (f *jsonFlag) register(fl *pflag.FlagSet, usage string) {
	fl.BoolVar((*bool)(f), "json", false, usage)
}

// quietFlag is --quiet.
type quietFlag bool

func (f *quietFlag) register(fl *pflag.FlagSet, usage string) {
	fl.BoolVarP((*bool)(f), "quiet", "q", false, usage)
}

// bpffsFlag is --bpffs.
type bpffsFlag string

func (f *bpffsFlag) register(fl *pflag.FlagSet) {
	fl.StringVar((*string)(f), "bpffs", congestion.DefaultBPFFS, "mount point of the BPF file system")
}

// outputFlags are the flags of a verb that writes a file.
type outputFlags struct {
	path  string
	force bool
}

func (f *outputFlags) register(fl *pflag.FlagSet, usage string) {
	fl.StringVarP(&f.path, "output", "o", "", usage)
	fl.BoolVarP(&f.force, "force", "f", false, "overwrite an existing file")
}

// check refuses an existing file without --force, before the work for its new content.
func (f *outputFlags) check() error {
	if _, err := os.Lstat(f.path); err == nil && f.path != "-" && !f.force {
		return &file.ExistsError{Path: f.path}
	}
	return nil
}

// writeOrPrint writes the file and names it, or writes to standard output if the path is "-".
func (f *outputFlags) writeOrPrint(t *terminal.Terminal, data []byte) error {
	if f.path == "-" {
		_, err := t.Raw().Write(data)
		return err
	}
	out, err := file.Create(f.path, f.force)
	if err != nil {
		return err
	}
	if _, err := out.Write(data); err != nil {
		out.Discard()
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	t.Notef("wrote %s", f.path)
	return nil
}

// noArgs refuses arguments, and exactArgs asks for one argument of each name.
var noArgs = exactArgs()

func exactArgs(names ...string) cobra.PositionalArgs { return someArgs(len(names), names...) }

// someArgs asks for an argument of each name. Those behind the first least ones may be missing.
func someArgs(least int, names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least {
			return usageError{fmt.Errorf("missing argument %s", names[len(args)])}
		}
		if len(args) > len(names) {
			return usageError{fmt.Errorf("unexpected argument %q", args[len(names)])}
		}
		return nil
	}
}

// argsBeforeCommand asks for one argument of each name. A command may follow behind "--".
func argsBeforeCommand(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			args = args[:dash]
		}
		if len(args) > len(names) {
			return usageError{fmt.Errorf("unexpected argument %q: put the command behind --", args[len(names)])}
		}
		return exactArgs(names...)(cmd, args)
	}
}

// commandOf is the command behind "--", or nil.
func commandOf(cmd *cobra.Command, args []string) ([]string, error) {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 {
		return nil, nil
	}
	if dash == len(args) {
		return nil, usageError{errors.New("no command behind --")}
	}
	return args[dash:], nil
}

// fixed completes a flag with values.
func fixed(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// group is a verb that only has verbs below it.
func group(cmd *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	cmd.Args = unknownVerb
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(verbs...)
	return cmd
}
