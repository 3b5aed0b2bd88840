// Package tune sets limits on TCP sockets that are there and on those that begin, picked by
// process, cgroup, port, prefix or network namespace, and takes them back: bounds of the congestion
// window, congestion control, pacing rate, buffers, timeouts.
//
// Sockets that are there are changed by a walk in the kernel (a BPF program of type iter/tcp, Linux
// 5.16), which holds each socket's lock; those that begin by a program at a cgroup (sock_ops). What
// was there before is remembered with the socket, in a storage that the kernel drops with it, so
// that another process can take it back, and several tunes of one socket can end in any order.
// Everything a tune leaves for others lies below the BPF file system, in a folder of its own.
//
// docs/guide/tune.md explains what each setting does and what cannot be taken back.
package tune
