package bpf

import (
	"slices"

	"github.com/cilium/ebpf/btf"
)

// Tracepoint is one that the programs are attached to.
type Tracepoint struct {
	Name  string
	Since string // the first kernel that has it
	// Without describes the loss if the kernel lacks it. It is "" if nothing works without it.
	Without string
}

// Tracepoints lists the programs' tracepoints. With this list doctor checks the same ones that the
// source needs.
func Tracepoints() []Tracepoint {
	var all []Tracepoint
	for _, h := range hooks {
		all = append(all, h.Tracepoint)
	}
	return all
}

// hook is a tracepoint with its two programs.
type hook struct {
	Tracepoint
	btf, raw string
}

// ownerTracepoint is in recvmsg, on behalf of the process that reads, and tells nothing but that.
const ownerTracepoint = "tcp_rcv_space_adjust"

var hooks = []hook{
	{Tracepoint{"tcp_probe", "4.16", ""}, "btf_tcp_probe", "raw_tcp_probe"},
	{Tracepoint{"inet_sock_set_state", "4.16", ""}, "btf_inet_sock_set_state", "raw_inet_sock_set_state"},
	{Tracepoint{"tcp_destroy_sock", "4.15", ""}, "btf_tcp_destroy_sock", "raw_tcp_destroy_sock"},
	{Tracepoint{"tcp_retransmit_skb", "4.15", ""}, "btf_tcp_retransmit_skb", "raw_tcp_retransmit_skb"},
	{
		Tracepoint{
			"tcp_cong_state_set", "5.19", "congestion states are compared at each ACK and retransmission instead",
		},
		"btf_tcp_cong_state_set", "raw_tcp_cong_state_set",
	},
	{
		Tracepoint{"tcp_receive_reset", "4.15", "a reset from the peer is told by the socket's error alone"},
		"btf_tcp_receive_reset", "raw_tcp_receive_reset",
	},
	{
		Tracepoint{"tcp_send_reset", "4.15", "a reset sent is told by the last state alone"},
		"btf_tcp_send_reset", "raw_tcp_send_reset",
	},
	{
		Tracepoint{ownerTracepoint, "4.18", "owners of accepted connections are found by /proc alone"},
		"btf_tcp_rcv_space_adjust", "raw_tcp_rcv_space_adjust",
	},
}

func (h hook) program(way Attach) string {
	switch {
	case way == AttachRawTP:
		return h.raw
	case way == AttachTrusted && h.Name == "tcp_probe":
		return "trusted_tcp_probe"
	}
	return h.btf
}

// tracepointArgs returns the number of arguments of a tracepoint, -1 when the kernel lacks it.
// Every tracepoint with a raw form has the type btf_trace_NAME. Its first argument is internal.
func tracepointArgs(types *btf.Spec, name string) int {
	var def *btf.Typedef
	if err := types.TypeByName("btf_trace_"+name, &def); err != nil {
		return -1
	}
	ptr, ok := def.Type.(*btf.Pointer)
	if !ok {
		return -1
	}
	proto, ok := ptr.Target.(*btf.FuncProto)
	if !ok {
		return -1
	}
	return len(proto.Params) - 1
}

// argsOf is tracepointArgs for the kernel that the options describe.
func (o Options) argsOf(types *btf.Spec, name string) int {
	if slices.Contains(o.lacks, name) {
		return -1
	}
	return tracepointArgs(types, name)
}

// TellsOfRefusals reports whether tcp_retransmit_skb also runs for retransmissions that the own
// device refused: Linux 6.17 or newer.
func TellsOfRefusals(types *btf.Spec) bool {
	return tracepointArgs(types, "tcp_retransmit_skb") > 2
}
