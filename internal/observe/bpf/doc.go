// Package bpf is the monitor's source of samples per ACK: BPF programs on the kernel's TCP
// tracepoints.
//
// It needs kernel 5.10 with BTF, and CAP_BPF with CAP_PERFMON or root. The programs are attached as
// tp_btf, or as their raw_tp twins where that is refused. Nothing is pinned: when the process ends,
// however it ends, the kernel drops the programs.
package bpf
