package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/congestion"
)

func newCCUnload() *cobra.Command {
	var (
		bpffs  string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "unload NAME",
		Short: "Unload a pinned congestion control",
		Long: `Unloads a congestion control that was loaded with --pin. Only what airtide loaded is touched.

Sockets that use it keep it until they close, and a namespace whose default it is until another is chosen.`,
		Example: `  airtide cc unload cubic_rtt`,
		Args:    exactArgs("NAME"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			loaded, err := congestion.List(bpffs)
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
			sockets, err := congestion.Unload(ctx, bpffs, args[0])
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if asJSON {
				return json.NewEncoder(out).Encode(map[string]any{"name": args[0], "sockets": sockets})
			}
			switch sockets {
			case 0:
				_, err = fmt.Fprintf(out, "%s is unloaded.\n", args[0])
			case 1:
				_, err = fmt.Fprintf(out, "%s is unloaded. One socket uses it until it closes.\n", args[0])
			default:
				_, err = fmt.Fprintf(out, "%s is unloaded. %d sockets use it until they close.\n", args[0], sockets)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&bpffs, "bpffs", congestion.DefaultBPFFS, "where the BPF file system is mounted")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a line of JSON")
	return cmd
}
