// Package screen is the live view behind `airtide monitor`: a full-screen table of the connections with a detail pane,
// a plain table for pipes, and JSON lines.
//
// [Table] is a tcp.Sink that keeps a small model of every flow. It is pure: the time comes in as an argument, so a test
// drives it with synthetic samples. [Run], [Plain] and [JSONLines] are the three ways to look at it.
package screen
