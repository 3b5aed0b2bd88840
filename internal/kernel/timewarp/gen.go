package timewarp

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go@v0.22.0 -target bpfel -go-package timewarp -no-global-types -output-stem initial_rto initialRTO ../../../bpf/timewarp/rto.bpf.c -- -O2 -mcpu=v3 -Wall -Werror -I../../../bpf/include
