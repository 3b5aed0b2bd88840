// Package share is the agent of one terminal of a cell whose terminals cooperate: it sees its own flows (share/own), tells the
// others and hears them (share/message over share/link), decides on its share (share/control) and keeps its flows to
// it (share/hold).
//
// It fails open: when nobody is heard for too long, or it ends in whatever way, its flows are bound by nothing.
package share
