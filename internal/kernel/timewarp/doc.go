// Package timewarp makes the kernel's clock run N times as fast as real time, with the module of
// kmod/timewarp.
//
// Its duties:
// - N as a ratio: ratio.go
// - building the module from the embedded sources: build.go
// - finding a module built for this kernel and from these sources: file.go, sources.go
// - reading the state of the kernel and the module: kernel.go, status.go
// - loading, selecting the clock source, setting N, and undoing it: load.go, undo.go
// - TCP: its timeouts and window have to follow N: tcp.go, initial_rto.go, cubic.go
// - the kernel's watchdogs, which count warped seconds: watchdogs.go
// - the state for an undo after a crash, and the lock that shows a running process: state.go
// - the process that undoes everything if airtide is killed: guardian.go
// - a command in warped time, its durations and TCP's errors by kind: run.go, counters.go
//
// The date (CLOCK_REALTIME) is warped too. Undoing sets it back by its advance.
package timewarp
