// Package diag is the monitor's source for kernels without BTF and for users without root: it polls
// the kernel's inet_diag interface (NETLINK_SOCK_DIAG, the one that ss uses) and turns every socket
// into a row of a [tcp.Batch]. What inet_diag does not tell is [tcp.Absent], and events are found
// by comparing a poll with the one before, so whatever happens and passes between two polls is not
// seen. docs/reference/inet-diag.md says which fields and events there are.
package diag
