// Package simulate runs cells of two to a thousand terminals that share, in virtual time. Reports
// (internal/share/message: sealed datagrams) and decisions (control.Core) are the real code. The
// medium is emulated frame by frame, with CUBIC senders ([Emulated]), or modelled by its queues,
// with senders that keep a window in flight ([Queues]). The same configuration gives the same run.
package simulate
