// Package timewarp makes the kernel's clock run N times as fast as real time, by the module of
// kmod/timewarp.
//
// Its duties:
//   - N as a ratio: ratio.go
//   - building the module from the sources in the binary: build.go; whether one was built for this kernel, and
//     from these sources: file.go, sources.go
//   - what this kernel and the module say: kernel.go, status.go
//   - loading, selecting the clock source, setting N, and taking it all back: load.go, undo.go
//   - TCP, whose timeouts and window have to follow N: tcp.go, initial_rto.go, cubic.go
//   - the kernel's watchdogs, which count warped seconds: watchdogs.go
//   - what has to be known to take it back after a crash, and the lock that tells a crash from a running process: state.go
//   - who takes it back when a command's airtide is killed: guardian.go
//   - a command in warped time, with real and warped durations and TCP's errors by kind: run.go, counters.go
//
// The date (CLOCK_REALTIME) is warped as well; undoing sets it back by what it went ahead.
package timewarp
