// Package steplog records the inputs and outputs of the sharing agent's steps, and replays them. A
// recording is gzipped JSON, one line for each session and for each step. Peers that sent nothing
// new are left out, and addresses are numbered anew.
package steplog
