package main

import (
	"github.com/spf13/cobra"

	"airtide/internal/kernel/congestion"
	"airtide/internal/kernel/congestion/kind"
	"airtide/internal/view/terminal"
)

func newCCLoad(t *terminal.Terminal) *cobra.Command {
	var (
		o      congestion.Options
		p      ccParameters
		bpffs  bpffsFlag
		asJSON jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "load KIND [flags] [-- command ...]",
		Short: "Load a congestion control",
		Long: `Loads a congestion control: until Ctrl-C, while a command runs, or with --pin until it is unloaded.
If it is not pinned, it is unloaded with this process, however the process ends. Sockets that use it
then keep it until they close.

--pin needs the BPF file system and mounts it if necessary.

If a command is given, the exit status is the status of the command.`,
		Example: `  airtide cc load cubic_rtt --pin
  airtide cc load cubic_rttk --rtt-ref 500ms --as rttk_500
  airtide cc load compound -- iperf3 -c 192.0.2.1 -C compound
  sysctl net.ipv4.tcp_congestion_control=cubic_rtt    for new sockets here`,
		Args: argsBeforeCommand("KIND"),
		ValidArgsFunction: func(
			_ *cobra.Command, args []string, _ string,
		) (names []string, _ cobra.ShellCompDirective) {
			for _, k := range kind.All() {
				if len(args) == 0 {
					names = append(names, string(k)+"\t"+k.About())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			k := congestion.Kind(args[0])
			if err := k.Check(); err != nil {
				var names []string
				for _, one := range kind.All() {
					names = append(names, string(one))
				}
				return misnamed(err, args[0], names)
			}
			o.BPFFS = string(bpffs)
			var err error
			o.Parameters, err = p.of(cmd, k)
			if err != nil {
				return usageError{err}
			}
			if cmd.Flags().Changed("as") {
				if err := congestion.CheckName(o.Name); err != nil {
					return usageError{err}
				}
			}
			argv, err := commandOf(cmd, args)
			if err != nil {
				return err
			}
			l, err := congestion.Load(k, o)
			if err != nil {
				return err
			}
			defer l.Close()
			e, err := congestion.Find(o.BPFFS, l.Name)
			if err != nil {
				return err
			}
			switch {
			case bool(asJSON):
				err = t.JSONLine(e)
			case o.Pin:
				err = t.Printf("%s is loaded (%s) until: airtide cc unload %s\n", e.Name, e.Parameters, e.Name)
			case argv == nil:
				err = t.Printf("%s is loaded (%s). Ctrl-C unloads it.\n", e.Name, e.Parameters)
			}
			if err != nil {
				return err
			}
			if argv != nil {
				return l.Run(cmd.Context(), argv)
			}
			if !o.Pin {
				<-cmd.Context().Done()
			}
			return nil
		},
	}
	fl := cmd.Flags()
	p.define(fl)
	fl.StringVar(&o.Name, "as", "",
		"name of the loaded control: at most 15 letters, digits and underscores (default KIND)")
	fl.BoolVar(&o.Pin, "pin", false, "keep it loaded when this process ends")
	bpffs.register(fl)
	asJSON.register(fl, "print a line of JSON once it is loaded")
	return cmd
}
