package doctor

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// tracepointTable lists the tracepoints that are used. All fire for any socket, so what lacks one loses what stands
// at it for every flow.
var tracepointTable = []struct {
	name   string
	level  Level
	loss   string
	remedy string
}{
	{"tcp_probe", required, "no sample per ACK", "a kernel from 4.16 on"},
	{"inet_sock_set_state", optional, "opening, closing and changes of state are seen only at the next ACK", "a kernel from 4.16 on"},
	{"tcp_destroy_sock", optional, "the end of a socket is not seen, so a closed flow ends at its last change of state", "a kernel from 4.16 on"},
	{"tcp_cong_state_set", optional, "changes of ca_state are found by comparing ACKs and carry the time of the next ACK", "a kernel from 5.19 on"},
	{"tcp_retransmit_skb", optional, "retransmissions are counted, but not seen one by one with their cause", "a kernel from 4.16 on"},
	{"tcp_retransmit_synack", optional, "a SYN-ACK that is sent again is not seen", "a kernel from 4.16 on"},
	{"tcp_receive_reset", optional, "a reset by the peer is not told apart from other ends", "a kernel from 4.16 on"},
	{"tcp_send_reset", optional, "a reset by this end is not told apart from other ends", "a kernel from 4.16 on"},
	{"tcp_rcv_space_adjust", optional, "the reader's side is seen only when a segment arrives", "a kernel from 4.18 on"},
	{"tcp_rcvbuf_grow", "", "growth of the receive buffer is seen only at the next segment", "a kernel from 6.16 on"},
	{"tcp_sendmsg_locked", "", "writes of the application are seen only at the next ACK", "a kernel from 6.16 on"},
}

// emptyProgram is a program that returns 0.
func emptyProgram() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
}

func tracepointChecks() []check {
	checks := []check{{
		name: "tp_btf", group: groupTracepoints,
		probe:  func(m *machine) finding { return m.judgeBPF(attachTypedTracepoint("tcp_probe", emptyProgram())) },
		needs:  need(optional, bpf, Monitor, Record),
		loss:   "the raw_tp twins of the programs are used: they read each field by a helper, which takes longer per ACK",
		remedy: "a kernel from 5.5 on that shows its own BTF (CONFIG_DEBUG_INFO_BTF=y); a BTF file is not enough for this",
	}, {
		name: "raw_tp", group: groupTracepoints,
		probe:  func(m *machine) finding { return m.judgeBPF(attachRawTracepoint("tcp_probe")) },
		loss:   "kernels without their own BTF cannot be observed per ACK",
		remedy: "a kernel from 4.17 on",
	}}
	for _, t := range tracepointTable {
		c := check{
			name: t.name, group: groupTracepoints, loss: t.loss, remedy: t.remedy,
			probe: func(m *machine) finding { return probeTracepoint(m, t.name) },
		}
		if t.level != "" {
			c.needs = need(t.level, bpf, Monitor, Record)
		}
		checks = append(checks, c)
	}
	return checks
}

// probeTracepoint attaches to a tracepoint in both ways; either is enough.
func probeTracepoint(m *machine, name string) finding {
	typed := attachTypedTracepoint(name, emptyProgram())
	raw := attachRawTracepoint(name)
	var ways []string
	if typed == nil {
		ways = append(ways, "tp_btf")
	}
	if raw == nil {
		ways = append(ways, "raw_tp")
	}
	if len(ways) > 0 {
		return ok(strings.Join(ways, ", "), ways...)
	}
	f := m.judgeBPF(raw)
	if f.status != Unknown {
		return f
	}
	// The types tell even a user without privileges: each tracepoint has a typedef btf_trace_NAME.
	switch found, certain := m.knows("btf_trace_" + name); {
	case found:
		f.detail += "; the kernel has it"
	case certain:
		return missing("not in this kernel (no such type in its BTF)")
	}
	return f
}

// attachTypedTracepoint attaches a program with typed arguments (tp_btf; Linux 5.5) for a moment.
func attachTypedTracepoint(name string, program asm.Instructions) error {
	return attachTracing(ebpf.AttachTraceRawTp, name, program)
}

// attachTracing attaches a program of type tracing to a target that is found by its type, for a moment.
func attachTracing(how ebpf.AttachType, target string, program asm.Instructions) error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "airtide_doctor", Type: ebpf.Tracing, AttachType: how, AttachTo: target, License: "GPL", Instructions: program,
	})
	if err != nil {
		return fmt.Errorf("loading a tracing program for %s: %w", target, err)
	}
	defer prog.Close()
	l, err := link.AttachTracing(link.TracingOptions{Program: prog})
	if err != nil {
		return fmt.Errorf("attaching to %s: %w", target, err)
	}
	return l.Close()
}

// attachRawTracepoint attaches a raw tracepoint program (Linux 4.17) for a moment.
func attachRawTracepoint(name string) error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "airtide_doctor", Type: ebpf.RawTracepoint, License: "GPL", Instructions: emptyProgram(),
	})
	if err != nil {
		return fmt.Errorf("loading a raw tracepoint program: %w", err)
	}
	defer prog.Close()
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: name, Program: prog})
	if err != nil {
		return fmt.Errorf("attaching to %s: %w", name, err)
	}
	return l.Close()
}
