package cause

import (
	"fmt"
	"strings"
)

// airs are limits of a radio that is recorded beside TCP. Without it the sender shows a queue.
func airs(d draw) []Situation {
	slow := []float64{6.5, 13, 19.5}[d.IntN(3)] // PHY rate in Mbit/s
	p := d.pipe()
	fallen := fmt.Sprintf(", schedule: [{at: %.1f s, phy_rate: %.1f Mbit/s}]", (beforeTraffic + each).Seconds(),
		slow)
	twice := []Pace{{For: each, WriteBytes: 64 << 10}, {For: each, WriteBytes: 64 << 10}}
	with := []string{"radio"}
	return []Situation{
		{
			Name: "radio-rate-fell", Kind: Change, With: with,
			Limits: []string{"own queue|network queue|capacity", "radio"},
			Cell:   wireless(65, 200, p.rtt, fallen), Plan: Plan{For: 2 * each, Phases: twice},
		},
		{
			Name: "radio-frame-errors", Kind: Single, With: with, Limits: []string{"radio"}, Receiver: lossy,
			Cell: wireless(65, 200, p.rtt, fmt.Sprintf(", frame_errors: %.0f %%", d.between(45, 60))),
			Plan: Plan{For: length, Pace: bulk},
		},
		{
			Name: "wire-loss-behind-radio", Kind: Single, With: with, Limits: []string{"random loss"}, Receiver: lossy,
			Cell: strings.Replace(wireless(130, 200, p.rtt, ""), "path: {", fmt.Sprintf("path: {up: {loss: %.2f %%}, ",
				d.between(1, 3)), 1),
			Plan: Plan{For: length, Pace: bulk},
		},
	}
}
