package plot

import "airtide/internal/view/figure"

// Scales of axes. A unit is used from ten of it up to some thousand, so that tick labels stay
// short.
var (
	packets = figure.Scale{{Name: "packets", Size: 1}}
	octets  = figure.Scale{
		{Name: "B", Size: 1},
		{Name: "kB", Size: 1e3, From: 2e3},
		{Name: "MB", Size: 1e6, From: 5e6},
		{Name: "GB", Size: 1e9, From: 5e9},
	}
	bitRate = figure.Scale{
		{Name: "kbit/s", Size: 1e3}, {Name: "Mbit/s", Size: 1e6, From: 1e6}, {Name: "Gbit/s", Size: 1e9, From: 1e10},
	}
	microseconds = figure.Scale{
		{Name: "µs", Size: 1}, {Name: "ms", Size: 1e3, From: 1e3}, {Name: "s", Size: 1e6, From: 1e7},
	}
	milliseconds = figure.Scale{{Name: "ms", Size: 1}, {Name: "s", Size: 1e3, From: 5e3}}
	percent      = figure.Scale{{Name: "%", Size: 1}}
)
