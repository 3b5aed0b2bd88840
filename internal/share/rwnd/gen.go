package rwnd

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go@v0.22.0 -target bpfel -go-package rwnd -no-global-types -output-stem window -type rwnd_flow -type rwnd_seen -type rwnd_order window ../../../bpf/share/rwnd.bpf.c -- -O2 -mcpu=v3 -Wall -Werror -I../../../bpf/include
