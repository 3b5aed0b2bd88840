// Package architecture tests the source itself: generated files are up to date, packages in virtual
// time know no clock, and lines are not too wide. The allowed imports between packages are in
// .golangci.yml.
package architecture
