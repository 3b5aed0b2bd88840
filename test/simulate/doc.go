// Package simulate runs cells of two to a thousand terminals that share, in virtual time. Reports
// (internal/share/message: sealed datagrams) and decisions (control.Core) are the real code; flows
// are sources that keep a window in flight. The medium is emulated frame by frame ([Emulated]) or
// modelled by its queues ([Queues]). The same configuration gives the same run.
package simulate
