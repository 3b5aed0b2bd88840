package screen

import (
	"image/color"
	"os"

	"charm.land/lipgloss/v2"
)

// styles are the text styles of the full screen. They use the terminal's own palette of sixteen
// colours, which is readable on its background. Without colour, bold and reverse carry the meaning.
type styles struct {
	title, head, sorted, dim, warn, note, selected lipgloss.Style
	cwnd, rtt, rate                                lipgloss.Style
}

// colourWanted follows no-color.org: any value that is not empty turns colour off.
func colourWanted() bool { return os.Getenv("NO_COLOR") == "" }

func newStyles(colour bool) styles {
	plain := lipgloss.NewStyle()
	in := func(s lipgloss.Style, c color.Color) lipgloss.Style {
		if colour {
			return s.Foreground(c)
		}
		return s
	}
	return styles{
		title:    plain.Bold(true),
		head:     plain.Underline(true),
		sorted:   plain.Underline(true).Bold(true),
		dim:      plain.Faint(true),
		warn:     in(plain.Bold(true), lipgloss.Red),
		note:     in(plain.Bold(true), lipgloss.Yellow),
		selected: plain.Reverse(true),
		cwnd:     in(plain, lipgloss.Cyan),
		rtt:      in(plain, lipgloss.Magenta),
		rate:     in(plain, lipgloss.Green),
	}
}
