// Package flow estimates what a terminal's own flows do: their rates, whether they are greedy, and
// their round-trip times. It is pure: time is passed in. It decides nothing.
package flow
