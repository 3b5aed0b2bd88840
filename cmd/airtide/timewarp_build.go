package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/timewarp"
)

func newTimewarpBuild() *cobra.Command {
	var (
		o       timewarp.BuildOptions
		verbose bool
	)
	cmd := &cobra.Command{
		Use:   "build [-- make-argument ...]",
		Short: "Build the module for a kernel",
		Long: `Builds the module from sources in this binary. It takes make, a compiler, and the headers of the kernel that it is for.
What stands behind -- is given to make.`,
		Example: `  airtide timewarp build
  airtide timewarp build --kernel-headers /usr/src/linux-headers-6.1.0-56-amd64 -o timewarp.ko
  airtide timewarp build --kernel-headers DIR -- ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
				return misuse{fmt.Errorf("unexpected argument %q: put arguments of make behind --", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Make = args
			if verbose {
				o.Log = os.Stderr
			}
			var path string
			err := patiently("building the module", func() (err error) {
				path, err = timewarp.Build(cmd.Context(), o)
				return err
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Headers, "kernel-headers", "", "folder of the kernel's headers (default: those of this kernel)")
	fl.StringVarP(&o.Output, "output", "o", "", "file to write (default: timewarp.ko in "+timewarp.Folder+"/RELEASE)")
	fl.BoolVarP(&verbose, "verbose", "v", false, "print what make prints")
	_ = cmd.MarkFlagDirname("kernel-headers")
	_ = cmd.MarkFlagFilename("output", "ko")
	return cmd
}
