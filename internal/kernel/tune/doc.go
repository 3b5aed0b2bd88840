// Package tune sets limits on existing and new TCP sockets and restores the previous values. The
// limits are bounds of the congestion window, congestion control, pacing rate, buffers and
// timeouts. Sockets are selected by process, cgroup, port, prefix or network namespace.
//
// A BPF iterator (iter/tcp, Linux 5.16) changes existing sockets and holds each socket's lock. A
// sock_ops program at a cgroup changes new sockets. Previous values are kept in a socket storage
// that the kernel frees with the socket. Another process can therefore restore them, and several
// tunes of one socket can end in any order. The state of a tune is in its own folder on the BPF
// file system.
//
// docs/guide/tune.md explains each setting and the values that cannot be restored.
package tune
