// Package diagnose names the limit of each connection's rate.
//
// An [Engine] is a sink for flows, samples and events of a monitor or a recording. It sums them up
// in bins of 100 ms or one round trip, whichever is longer. Its memory for a flow has a bound.
// [Engine.Report] splits the bins of a flow into phases and names the limit of each phase by rules.
// docs/reference/diagnosis.md lists the rules.
//
// The package is pure: it reads no file, no clock and no kernel.
package diagnose
