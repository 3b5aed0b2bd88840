// Package congestion loads airtide's congestion controls into the kernel (BPF struct_ops, Linux
// 6.4), finds and removes them again, and sets the bounds of the congestion window that cubic_bound
// keeps.
//
// A congestion control is one for the whole machine. Once loaded it is chosen like any other: for a
// socket by TCP_CONGESTION, for a network namespace by the sysctl net.ipv4.tcp_congestion_control.
// It lasts as long as the process that loaded it, or, pinned, until it is unloaded; sockets that
// use it then keep it until they close.
//
// The programs stand in bpf/cc_*: their arithmetic in cc_math.h, cc_cubic.h and cc_compound.h,
// which compile for the host too; docs/guide/cc.md explains them.
package congestion
