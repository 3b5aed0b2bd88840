// Package share is the agent of one terminal of a cell whose terminals cooperate: it sees its own
// flows (internal/share/own), tells the others and hears them (internal/share/message over
// internal/share/link), decides on its share (internal/share/control) and keeps its flows to it
// (internal/share/hold).
//
// It fails open: when nobody is heard for too long, or it ends in whatever way, its flows are bound
// by nothing.
package share
