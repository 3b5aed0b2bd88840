package main

import (
	"strings"
	"testing"

	"airtide/internal/tcp"
	"airtide/internal/view/terminal"
)

func TestLossIsSaidWithWhatWouldHelp(t *testing.T) {
	for _, c := range []struct {
		loss tcp.Loss
		want string
	}{
		{tcp.Loss{PerCPU: []uint64{0, 0}}, ""},
		{
			tcp.Loss{PerCPU: []uint64{0, 7}, Orphans: 2, Missed: 1},
			"10 records lost: 7 found the ring full (a larger --buffer-mb or a lower --density helps), 2 of flows " +
				"whose begin was lost, 1 left out by the kernel, which does not run a program within itself\n",
		},
		{
			tcp.Loss{PerCPU: []uint64{0, 0}, Missed: 1},
			"1 record lost: 1 left out by the kernel, which does not run a program within itself\n",
		},
		{tcp.Loss{Unowned: 2}, "2 flows not recorded: the owner was unknown until the end\n"},
		{tcp.Loss{Untracked: 3}, "3 times a flow could not be followed because the table was full: raise " +
			"--max-flows\n"},
	} {
		var b strings.Builder
		printLoss(&terminal.Terminal{Err: &b}, &c.loss)
		if b.String() != c.want {
			t.Errorf("%q, want %q", b.String(), c.want)
		}
	}
}
