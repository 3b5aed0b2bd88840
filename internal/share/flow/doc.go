// Package flow estimates the rates, demands and round-trip times of a terminal's own flows. It is
// pure: time is passed in. It makes no decisions.
package flow
