// Package steplog records the inputs and outputs of the sharing agent's steps, and replays them. A
// recording is gzipped JSON with one line for each session and each step. It leaves out peers
// without a new report and replaces addresses by numbers.
package steplog
