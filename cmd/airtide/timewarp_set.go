package main

import (
	"github.com/spf13/cobra"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/view/terminal"
)

func newTimewarpSet(t *terminal.Terminal) *cobra.Command {
	var follow followFlags
	cmd := &cobra.Command{
		Use:   "set N",
		Short: "Set how many times as fast as real time the clock runs",
		Long: `Sets N: a whole number, a fraction or a decimal number from 1/10 to 1000. It can be changed at any
time; the clock never goes back. --rto and --scaled-cubic hold for this N only, and end when N is 1
again.`,
		Example: `  airtide timewarp set 10
  airtide timewarp set 5/2 --rto none
  airtide timewarp set 10 --scaled-cubic`,
		Args: exactArgs("N"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := ratioOf(args[0])
			if err != nil {
				return err
			}
			tcp, err := follow.tcp()
			if err != nil {
				return err
			}
			c, err := timewarp.Running().Set(r, tcp)
			warnRestored(t, c.Left)
			if err != nil {
				return err
			}
			for _, lack := range c.Lacks {
				t.Warnf("not done: %s", lack)
			}
			return t.Printf("ratio %s\n", r)
		},
	}
	follow.register(cmd)
	return cmd
}
