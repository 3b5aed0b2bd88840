package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	source "airtide/internal/observe/bpf"
)

// unusedTracepoints are tracepoints that doctor checks although no program of this build uses them.
var unusedTracepoints = []source.Tracepoint{
	{Name: "tcp_rcvbuf_grow", Since: "6.16"},
}

// emptyProgram is a program that returns 0.
func emptyProgram() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
}

func tracepointChecks() []check {
	checks := []check{{
		name:  "tp_btf",
		group: groupTracepoints,
		probe: func(m *machine) finding { return m.judgeBPF(attachTypedTracepoint("tcp_probe", emptyProgram())) },
		needs: need(optional, bpf, Monitor, Record),
		loss: "the raw_tp twins of the programs are used: they copy the whole socket at each hook, which costs " +
			"about twice as much",
		remedy: "kernel 5.5 or newer with its own BTF (CONFIG_DEBUG_INFO_BTF=y); a BTF file is not enough " +
			"for this",
	}, {
		name:  "tp_btf_trusted",
		group: groupTracepoints,
		needs: need(optional, bpf, Monitor, Record),
		probe: func(m *machine) finding {
			return m.judgeBPF(attachTypedTracepoint("tcp_probe", trustedProgram("arg:trusted")))
		},
		loss:   "the hook at each ACK takes twice as many instructions, because the kernel checks each read",
		remedy: "kernel 6.9 or newer",
	}, {
		name:   "raw_tp",
		group:  groupTracepoints,
		probe:  func(m *machine) finding { return m.judgeBPF(attachRawTracepoint("tcp_probe")) },
		loss:   "kernels without their own BTF cannot be observed per ACK",
		remedy: "kernel 4.17 or newer",
	}, {
		name:   "raw_tp_test_run",
		group:  groupTracepoints,
		needs:  need(required, bpf, Monitor, Record),
		probe:  func(m *machine) finding { return m.judgeBPF(runRawTracepoint()) },
		loss:   "the rate of the kernel's ticks is unknown, so its timers cannot be read",
		remedy: "kernel 5.10 or newer",
	}}
	for _, t := range source.Tracepoints() {
		c := tracepointCheck(t)
		c.needs = need(optional, bpf, Monitor, Record)
		c.loss = t.Without
		if t.Without == "" {
			c.needs = need(required, bpf, Monitor, Record)
			c.loss = "nothing is observed per ACK"
		}
		checks = append(checks, c)
	}
	checks = append(checks, check{
		name:   "tcp_retransmit_result",
		group:  groupTracepoints,
		probe:  probeRetransmitResult,
		needs:  need(optional, bpf, Monitor, Record),
		loss:   "retransmissions refused by the local device cause no event",
		remedy: "kernel 6.17 or newer",
	})
	known := source.Tracepoints()
	for _, p := range source.Parts() {
		for _, t := range p.Tracepoints {
			if slices.ContainsFunc(known, func(k source.Tracepoint) bool { return k.Name == t.Name }) {
				continue
			}
			known = append(known, t)
			c := tracepointCheck(t)
			c.loss = "--with " + p.Name + ": " + t.Without
			checks = append(checks, c)
		}
	}
	checks = append(checks, check{
		name:   "drop_reasons",
		group:  groupTracepoints,
		probe:  probeDropReasons,
		loss:   "--with drops: drops have no reason",
		remedy: "kernel 5.17 or newer",
	})
	for _, t := range unusedTracepoints {
		c := tracepointCheck(t)
		c.loss = "nothing: the programs do not use it"
		checks = append(checks, c)
	}
	return checks
}

func tracepointCheck(t source.Tracepoint) check {
	return check{
		name:   t.Name,
		group:  groupTracepoints,
		remedy: "kernel " + t.Since + " or newer",
		probe:  func(m *machine) finding { return probeTracepoint(m, t.Name) },
	}
}

// probeRetransmitResult counts the arguments of the tracepoint, as the monitor does.
func probeRetransmitResult(m *machine) finding {
	switch {
	case m.typesErr != nil:
		return unknown("the kernel's types are unknown")
	case !source.TellsOfRefusals(m.types):
		return missing("tcp_retransmit_skb has no third argument in the kernel's types")
	}
	return ok("")
}

// probeDropReasons counts the arguments of the tracepoint, as the monitor does.
func probeDropReasons(m *machine) finding {
	switch {
	case m.typesErr != nil:
		return unknown("the kernel's types are unknown")
	case !source.TellsOfDropReasons(m.types):
		return missing("kfree_skb has no reason in the kernel's types")
	}
	return ok("")
}

// probeTracepoint attaches to a tracepoint in two ways; one of them is sufficient.
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
	// Even a user without privileges can read the types: each tracepoint has a typedef
	// btf_trace_NAME.
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
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "airtide_doctor", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: name,
		License: "GPL", Instructions: program,
	})
	if err != nil {
		return fmt.Errorf("loading a tracing program for %s: %w", name, err)
	}
	defer prog.Close()
	l, err := link.AttachTracing(link.TracingOptions{Program: prog})
	if err != nil {
		return fmt.Errorf("attaching to %s: %w", name, err)
	}
	return l.Close()
}

// rawTracepointProgram is an empty program for a raw tracepoint (Linux 4.17).
func rawTracepointProgram() (*ebpf.Program, error) {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "airtide_doctor", Type: ebpf.RawTracepoint, License: "GPL", Instructions: emptyProgram(),
	})
	if err != nil {
		return nil, fmt.Errorf("loading a raw tracepoint program: %w", err)
	}
	return prog, nil
}

// attachRawTracepoint attaches a raw tracepoint program for a moment.
func attachRawTracepoint(name string) error {
	prog, err := rawTracepointProgram()
	if err != nil {
		return err
	}
	defer prog.Close()
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: name, Program: prog})
	if err != nil {
		return fmt.Errorf("attaching to %s: %w", name, err)
	}
	return l.Close()
}

// runRawTracepoint runs a raw tracepoint program from user space (BPF_PROG_TEST_RUN; Linux 5.10).
// The monitor measures the rate of the kernel's ticks in this way.
func runRawTracepoint() error {
	prog, err := rawTracepointProgram()
	if err != nil {
		return err
	}
	defer prog.Close()
	if _, err := prog.Run(&ebpf.RunOptions{}); err != nil {
		return fmt.Errorf("running a raw tracepoint program: %w", err)
	}
	return nil
}
