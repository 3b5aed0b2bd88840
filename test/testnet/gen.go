package testnet

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go@v0.22.0 -target bpfel -go-package testnet -output-stem path -type slot -type held_frame path ../../bpf/test/path.bpf.c -- -O2 -mcpu=v3 -Wall -Werror -I../../bpf/include
