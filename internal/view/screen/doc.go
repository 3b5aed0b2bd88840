// Package screen is the live view of `airtide monitor`: a full-screen table of connections with a
// detail pane, a plain table for pipes, and JSON lines.
//
// [Table] is a tcp.Sink that keeps a small model of each flow. It is pure: the time is an argument,
// so that tests drive it with synthetic samples. [Run], [Plain] and [JSONLines] show it.
package screen
