package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/view/terminal"
)

func newTimewarpBuild(t *terminal.Terminal) *cobra.Command {
	var (
		o       timewarp.BuildOptions
		verbose bool
	)
	cmd := &cobra.Command{
		Use:   "build [flags] [-- make-argument ...]",
		Short: "Build the module for a kernel",
		Long: `Builds the module from sources in this binary. It needs make, a compiler, and the headers of the
target kernel. Arguments behind -- are passed to make.`,
		Example: `  airtide timewarp build
  airtide timewarp build --kernel-headers /usr/src/linux-headers-6.1.0-56-amd64
  airtide timewarp build --kernel-headers DIR -o a.ko -- ARCH=arm64 LLVM=1`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
				return usageError{fmt.Errorf("unexpected argument %q: put arguments of make behind --", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Make = args
			if verbose {
				o.Log = t.Err
			}
			var path string
			err := t.WaitFor("building the module", func() (err error) {
				path, err = timewarp.Build(cmd.Context(), o)
				return err
			})
			if err != nil {
				return err
			}
			return t.Print([]byte(path + "\n")) // never broken
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Headers, "kernel-headers", "", "folder of the kernel's headers (default: those of this kernel)")
	fl.StringVarP(&o.Output, "output", "o", "", "file to write (default: timewarp.ko in "+timewarp.Folder+"/RELEASE)")
	fl.BoolVarP(&verbose, "verbose", "v", false, "print the output of make")
	_ = cmd.MarkFlagDirname("kernel-headers")
	_ = cmd.MarkFlagFilename("output", "ko")
	return cmd
}
