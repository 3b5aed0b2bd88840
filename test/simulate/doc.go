// Package simulate runs cells of terminals that share, from two to a thousand and more, in virtual
// time. Reports (internal/share/message: sealed datagrams) and decisions (control.Core) are the real
// code; flows are sources that keep a window in flight. The medium is emulated frame by frame
// ([Emulated]), or modelled by its queues ([Queues]); the same configuration gives the same run.
package simulate
