package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/congestion/kind"
	"airtide/internal/view/terminal"
)

func newCC(t *terminal.Terminal) *cobra.Command {
	var about strings.Builder
	for _, k := range kind.All() {
		fmt.Fprintf(&about, "  %-12s %s\n", k, k.About())
	}
	cmd := &cobra.Command{
		Use:   "cc",
		Short: "Load congestion controls into the kernel",
		Long: `Loads congestion controls into the running kernel (Linux 6.4 or later), lists and unloads them. A
loaded control is chosen like any other: by the sysctl net.ipv4.tcp_congestion_control of a network
namespace, or by the socket option TCP_CONGESTION.

` + about.String() + `
share/doc/airtide/guide/cc.md describes what they compute.`,
		Example: `  airtide cc load cubic_rtt --rtt-ref 200ms --pin
  airtide cc list
  airtide cc unload cubic_rtt`,
	}
	return group(cmd, newCCLoad(t), newCCList(t), newCCUnload(t))
}
