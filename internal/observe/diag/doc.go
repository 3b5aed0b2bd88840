// Package diag is the monitor's source for kernels without BTF and for users without root: it polls
// the kernel's inet_diag interface (NETLINK_SOCK_DIAG, the one that ss uses) and turns every socket
// into a row of a [tcp.Batch]. Fields that inet_diag lacks are [tcp.Absent]. Events are found by
// comparing a poll with the one before, so an event that begins and ends between two polls is not
// seen. docs/reference/inet-diag.md lists the fields and events.
package diag
