package tune

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go@v0.22.0 -target bpfel -go-package tune -no-global-types -output-stem sockets -type tune_record -type tune_slot -type tune_setting -type tune_mode -type tune_count -type tune_slot_flags -type tune_config_flags -type tune_config -type tune_walk -type listening sockets ../../../bpf/tune/tune.bpf.c -- -O2 -mcpu=v3 -Wall -Werror -I../../../bpf/include

// Loaders read no relocations of BTF.ext. They are a quarter of the object.
//go:generate llvm-objcopy --remove-section=.rel.BTF.ext sockets_bpfel.o
