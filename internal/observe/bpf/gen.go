package bpf

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go@v0.22.0 -target bpfel -go-package bpf -output-stem monitor -type sample_record -type flow_record -type event_record -type drop_record -type mon_with_parts -type mon_more_flags -type mon_event_kind -type mon_cause -type mon_reason -type mon_counter -type mon_record_kind -type mon_sample_flags -type mon_flow_flags -type ring_control -type mon_ring_limits -type owner monitor ../../../bpf/monitor/tcp_monitor.bpf.c -- -O2 -mcpu=v3 -Wall -Werror -I../../../bpf/include

// Loaders read no relocations of BTF.ext. They are a quarter of the object.
//go:generate llvm-objcopy --remove-section=.rel.BTF.ext monitor_bpfel.o
