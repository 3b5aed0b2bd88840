package engine

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go@v0.22.0 -target bpfel -go-package engine -output-stem port -type credit port ../../../bpf/cell/port.bpf.c -- -O2 -mcpu=v3 -Wall -Werror -I../../../bpf/include
