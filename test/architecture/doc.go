// Package architecture tests the source itself: generated files are up to date, packages in virtual time know
// no clock, and lines are not too wide. .golangci.yml says which package may import which.
package architecture
