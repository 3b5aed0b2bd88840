// Package capture shows the analysis of a packet capture on a terminal: tables, JSON and figures of
// its connections. Package internal/packets/conn analyses them.
package capture
