// Package share is the agent of one terminal. It samples its own flows (sampler), exchanges reports
// with the other terminals of the cell (message over link), lets control decide, and bounds the
// windows of its flows (cwnd, rwnd).
//
// If no report arrives for longer than the silence limit, or the agent ends in any way, its flows
// are unbounded.
package share
