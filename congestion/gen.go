package congestion

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go@v0.22.0 -target bpfel -go-package congestion -no-global-types -output-stem cubic_plain -type cc_kind -type cc_parameters -type cc_usage cubicPlain ../bpf/cc_cubic_plain.bpf.c -- -O2 -mcpu=v3 -Wall -Werror
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go@v0.22.0 -target bpfel -go-package congestion -no-global-types -output-stem cubic_rttk cubicRTTK ../bpf/cc_cubic_rttk.bpf.c -- -O2 -mcpu=v3 -Wall -Werror
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go@v0.22.0 -target bpfel -go-package congestion -no-global-types -output-stem cubic_rtt cubicRTT ../bpf/cc_cubic_rtt.bpf.c -- -O2 -mcpu=v3 -Wall -Werror
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go@v0.22.0 -target bpfel -go-package congestion -no-global-types -output-stem cubic_bound -type cc_bounds cubicBound ../bpf/cc_cubic_bound.bpf.c -- -O2 -mcpu=v3 -Wall -Werror
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go@v0.22.0 -target bpfel -go-package congestion -no-global-types -output-stem compound compound ../bpf/cc_compound.bpf.c -- -O2 -mcpu=v3 -Wall -Werror
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go@v0.22.0 -target bpfel -go-package congestion -no-global-types -output-stem arithmetic -output-suffix _test -type cc_case -type cc_question arithmetic ../bpf/cc_math_test.bpf.c -- -O2 -mcpu=v3 -Wall -Werror
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go@v0.22.0 -target bpfel -go-package congestion -no-global-types -output-stem shadow -output-suffix _test -type shadow -type shadow_hook shadow ../bpf/cc_shadow_test.bpf.c -- -O2 -mcpu=v3 -Wall -Werror
