package bpf

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go@v0.22.0 -target bpfel -go-package bpf -output-stem monitor -type sample_record -type flow_record -type event_record -type event_kind -type cause -type reason -type counter -type record_kind -type sample_flags -type flow_flags -type ring_control -type ring_limits -type owner monitor ../../../bpf/monitor/tcp_monitor.bpf.c -- -O2 -mcpu=v3 -Wall -Werror -I../../../bpf/include
