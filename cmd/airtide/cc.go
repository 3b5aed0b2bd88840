package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/congestion"
	"airtide/internal/kernel/congestion/kind"
)

func newCC() *cobra.Command {
	var about strings.Builder
	for _, k := range kind.All() {
		fmt.Fprintf(&about, "  %-12s %s\n", k, k.About())
	}
	cmd := &cobra.Command{
		Use:   "cc",
		Short: "Load congestion controls into the kernel",
		Long: `Loads congestion controls into the running kernel (Linux 6.4), lists and unloads them. Once loaded, one is chosen like
any other: by the sysctl net.ipv4.tcp_congestion_control of a network namespace, or for a socket by TCP_CONGESTION.

` + about.String() + `
docs/guide/cc.md tells what they compute.`,
		Example: `  airtide cc load cubic_rtt --rtt-ref 200ms --pin
  airtide cc list
  airtide cc unload cubic_rtt`,
		Args: func(_ *cobra.Command, args []string) error { return unknownVerb(args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCCLoad(), newCCList(), newCCUnload())
	return cmd
}

func newCCLoad() *cobra.Command {
	var (
		o      congestion.Options
		p      ccParameters
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "load KIND [flags] [-- command ...]",
		Short: "Load a congestion control",
		Long: `Loads a congestion control: until Ctrl-C, for as long as a command runs, or with --pin until it is unloaded. However the
process ends, what is not pinned is gone with it; sockets that use it then keep it until they close.

--pin needs the BPF file system, and mounts it where nobody has.`,
		Example: `  airtide cc load cubic_rtt --pin                        all namespaces can choose it now
  airtide cc load cubic_rttk --rtt-ref 500ms --as rttk_500
  airtide cc load compound -- iperf3 -c 192.0.2.1 -C compound
  sysctl net.ipv4.tcp_congestion_control=cubic_rtt       for new sockets of this namespace`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args = args[:dash]
			}
			return exactArgs("KIND")(cmd, args)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, k := range kind.All() {
				if len(args) == 0 {
					names = append(names, string(k)+"\t"+k.About())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			k := congestion.Kind(args[0])
			if !slices.Contains(kind.All(), k) {
				return misuse{fmt.Errorf("there is no congestion control %q: choose from %v", k, kind.All())}
			}
			var err error
			if o.Parameters, err = p.of(cmd, k); err != nil {
				return misuse{err}
			}
			if cmd.Flags().Changed("as") {
				if err := congestion.CheckName(o.Name); err != nil {
					return misuse{err}
				}
			}
			var command []string
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				if command = args[dash:]; len(command) == 0 {
					return misuse{errors.New("no command behind --")}
				}
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
			case asJSON:
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(e)
			case o.Pin:
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is loaded (%s) until: airtide cc unload %s\n", e.Name, e.Parameters, e.Name)
			case command == nil:
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is loaded (%s). Ctrl-C unloads it.\n", e.Name, e.Parameters)
			}
			if err != nil {
				return err
			}
			if command != nil {
				return runCommand(cmd.Context(), command)
			}
			if !o.Pin {
				<-cmd.Context().Done()
			}
			return nil
		},
	}
	fl := cmd.Flags()
	p.define(fl)
	fl.StringVar(&o.Name, "as", "", "name under which it is loaded, at most 15 letters, digits and underscores (default KIND)")
	fl.BoolVar(&o.Pin, "pin", false, "keep it when this process ends")
	fl.StringVar(&o.BPFFS, "bpffs", congestion.DefaultBPFFS, "where the BPF file system is mounted")
	fl.BoolVar(&asJSON, "json", false, "print a line of JSON when it is loaded")
	return cmd
}

// ccList is the JSON of all that are loaded.
type ccList struct {
	Loaded []congestion.Entry `json:"loaded"`
	Others []string           `json:"others"`
}

func newCCList() *cobra.Command {
	var (
		bpffs  string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the congestion controls that airtide has loaded, and the others there are",
		Example: `  airtide cc list
  airtide cc list --json | jq '.loaded[] | {name, sockets, parameters}'`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list := ccList{Loaded: []congestion.Entry{}, Others: []string{}}
			available, err := congestion.Available()
			if err != nil {
				return err
			}
			loaded, err := congestion.List(bpffs)
			if err != nil {
				return err
			}
			list.Loaded = append(list.Loaded, loaded...)
			for _, name := range available {
				if !slices.ContainsFunc(loaded, func(e congestion.Entry) bool { return e.Name == name }) {
					list.Others = append(list.Others, name)
				}
			}
			out := cmd.OutOrStdout()
			if asJSON {
				return printJSON(out, list)
			}
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tKIND\tSOCKETS\tUNTIL\tPARAMETERS")
			for _, e := range list.Loaded {
				until := "unloaded"
				if e.Pin == "" {
					until = fmt.Sprintf("process %s ends", strings.Trim(fmt.Sprint(e.Processes), "[]"))
				}
				fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", e.Name, e.Kind, e.Sockets, until, e.Parameters)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			_, err = fmt.Fprintf(out, "not airtide's: %s\n", strings.Join(list.Others, " "))
			return err
		},
	}
	cmd.Flags().StringVar(&bpffs, "bpffs", congestion.DefaultBPFFS, "where the BPF file system is mounted")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// unloadWait is how long the kernel may take to let go of a congestion control.
const unloadWait = 10 * time.Second
