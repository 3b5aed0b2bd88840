// Package liars runs members of an emulated cell that send false reports, and measures what they
// take from an honest agent. Its tests need root.
package liars
