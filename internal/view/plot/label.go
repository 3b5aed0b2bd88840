package plot

import (
	"fmt"
	"slices"
	"strings"

	"airtide/internal/tcp"
)

// label names a flow: process, addresses, congestion control.
func (fs *FlowSeries) label() string {
	f := &fs.Flow
	var parts []string
	if f.Comm != "" {
		parts = append(parts, f.Comm)
	}
	if f.Local.IsValid() || f.Remote.IsValid() {
		parts = append(parts, tcp.Endpoint(f.Local)+" > "+tcp.Endpoint(f.Remote))
	}
	if cc := fs.congestionControl(); cc != "" {
		parts = append(parts, cc)
	}
	if len(parts) == 0 || f.Comm == "" {
		parts = append([]string{fmt.Sprintf("flow %d", f.ID)}, parts...)
	}
	return strings.Join(parts, ", ")
}

func (fs *FlowSeries) congestionControl() string {
	names := []string{fs.Flow.CongestionControl}
	for _, next := range fs.controls {
		if !slices.Contains(names, next.name) {
			names = append(names, next.name)
		}
	}
	return strings.TrimPrefix(strings.Join(names, ", then "), ", then ")
}
