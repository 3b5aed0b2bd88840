package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/congestion"
	"airtide/internal/view/terminal"
)

// unloadWait is the longest time that the kernel takes to release a congestion control.
const unloadWait = 10 * time.Second

func newCCUnload(t *terminal.Terminal) *cobra.Command {
	var (
		bpffs  bpffsFlag
		asJSON jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "unload NAME",
		Short: "Unload a pinned congestion control",
		Long: `Unloads a congestion control that was loaded with --pin. Controls that airtide did not load are left
alone.

Sockets that use it keep it until they close. A namespace whose default it is keeps it until another
is chosen.`,
		Example: `  airtide cc unload cubic_rtt`,
		Args:    exactArgs("NAME"),
		ValidArgsFunction: func(
			_ *cobra.Command, args []string, _ string,
		) (names []string, _ cobra.ShellCompDirective) {
			loaded, err := congestion.List(string(bpffs))
			for _, e := range loaded {
				if err == nil && len(args) == 0 && e.Pin != "" {
					names = append(names, e.Name+"\t"+e.Parameters.String())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), unloadWait)
			defer cancel()
			sockets, err := congestion.Unload(ctx, string(bpffs), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return t.JSONLine(map[string]any{"name": args[0], "sockets": sockets})
			}
			switch sockets {
			case 0:
				return t.Printf("%s is unloaded.\n", args[0])
			case 1:
				return t.Printf("%s is unloaded. One socket uses it until it closes.\n", args[0])
			}
			return t.Printf("%s is unloaded. %d sockets use it until they close.\n", args[0], sockets)
		},
	}
	bpffs.register(cmd.Flags())
	asJSON.register(cmd.Flags(), "print the result as a line of JSON")
	return cmd
}
