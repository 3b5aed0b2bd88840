package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/owner"
)

var bpfChecks = []check{
	{
		name:  "bpf_memory_limit",
		group: groupBPF,
		probe: func(m *machine) finding { return m.judge(m.memlock, capSysResource) },
		needs: need(required, bpf, Monitor, Record, CC, Tune, Share),
		loss:  "BPF objects do not fit into the limit on locked memory",
		remedy: "raise the limit (ulimit -l " +
			"unlimited) or use kernel 5.11 or newer",
	},
	{
		name:   "bpf_array_mmap",
		group:  groupBPF,
		probe:  probeMappedArray,
		needs:  need(required, bpf, Monitor, Record, Share),
		loss:   "no samples can leave the kernel",
		remedy: "kernel 5.5 or newer",
	},
	{
		name:  "bpf_probe_read_kernel",
		group: groupBPF,
		probe: func(m *machine) finding {
			return m.judgeBPF(features.HaveProgramHelper(ebpf.RawTracepoint, asm.FnProbeReadKernel))
		},
		needs:  need(required, bpf, Monitor, Record),
		loss:   "programs cannot follow the pointers of a socket",
		remedy: "kernel 5.5 or newer",
	},
	{
		name:   "bpf_skc_to_tcp_sock",
		group:  groupBPF,
		probe:  probeTypedSocket,
		needs:  need(optional, bpf, Monitor, Record),
		loss:   "tp_btf programs cannot read TCP sockets, so the raw_tp twins are used",
		remedy: "kernel 5.9 or newer",
	},
	{
		name:   "iter_tcp",
		group:  groupBPF,
		probe:  probeTCPIterator,
		needs:  need(optional, bpf, Monitor, Record),
		loss:   "a connection that is idle at the start of an observation appears only at its next segment",
		remedy: "kernel 5.9 or newer",
	},
	{
		name:  "sock_ops",
		group: groupBPF,
		probe: func(m *machine) finding {
			return m.judgeBPF(features.HaveProgramHelper(ebpf.SockOps, asm.FnSetsockopt), capNetAdmin)
		},
		needs:  need(required, bpf, Tune, Share),
		loss:   "connections cannot be tuned as they open",
		remedy: "kernel 4.13 or newer",
	},
	{
		name:   "sock_ops_attach",
		group:  groupBPF,
		probe:  probeSockOpsAttach,
		needs:  need(required, bpf, Tune, Share),
		loss:   "connections cannot be tuned as they open",
		remedy: "mount the cgroup v2 hierarchy",
	},
	{
		name:   "iter_tcp_setsockopt",
		group:  groupBPF,
		probe:  probeTCPIteratorSets,
		needs:  need(required, bpf, Tune, Share),
		loss:   "connections that are already open cannot be changed",
		remedy: "kernel 5.16 or newer",
	},
	{
		name:   "struct_ops",
		group:  groupBPF,
		probe:  probeStructOps,
		needs:  need(required, bpf, CC, Share),
		loss:   "no congestion control can be loaded",
		remedy: "kernel 5.6 or newer",
	},
	{
		name:   "struct_ops_link",
		group:  groupBPF,
		probe:  func(m *machine) finding { return m.judgeBPF(linkCongestionControl()) },
		needs:  slices.Concat(need(required, bpf, CC, Share), need(optional, "", Timewarp)),
		loss:   "no congestion control can be loaded such that it is removed when its owner ends",
		remedy: "kernel 6.4 or newer",
	},
	{
		name:  "tcx",
		group: groupBPF,
		probe: func(m *machine) finding {
			return m.judgeBPF(inScratchNamespace(attachTCX), capNetAdmin, capSysAdmin)
		},
		needs:  need(optional, bpf, Share),
		loss:   "traffic received by terminals is not limited",
		remedy: "kernel 6.6 or newer",
	},
}

// probeMappedArray makes an array that user space can map, as for the monitor's rings.
func probeMappedArray(m *machine) finding {
	array, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: "airtide_doctor", Type: ebpf.Array, KeySize: 4, ValueSize: 64, MaxEntries: 1, Flags: unix.BPF_F_MMAPABLE,
	})
	if err == nil {
		err = array.Close()
	}
	return m.judgeBPF(err)
}

// probeTypedSocket converts the socket of a tracepoint into a TCP socket. Tracing programs need a
// helper for this.
func probeTypedSocket(m *machine) finding {
	return m.judgeBPF(attachTypedTracepoint("tcp_probe", asm.Instructions{
		asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord), // the first argument: struct sock *
		asm.FnSkcToTcpSock.Call(),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}))
}

const socketOfContext = 8 // struct bpf_iter__tcp: meta, sk_common, uid

// probeTCPIterator attaches an iterator over all TCP sockets that reads each socket as the monitor
// does.
func probeTCPIterator(m *machine) finding {
	return m.judgeBPF(attachTCPIterator(asm.Instructions{
		asm.LoadMem(asm.R1, asm.R1, socketOfContext, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "done"),
		asm.FnSkcToTcpSock.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("done"),
		asm.Return(),
	}))
}

// probeTCPIteratorSets attaches an iterator that would call bpf_setsockopt.
func probeTCPIteratorSets(m *machine) finding {
	return m.judgeBPF(attachTCPIterator(asm.Instructions{
		asm.LoadMem(asm.R1, asm.R1, socketOfContext, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "done"),
		asm.Mov.Imm(asm.R2, 0),
		asm.StoreMem(asm.RFP, -8, asm.R2, asm.DWord),
		asm.Mov.Imm(asm.R2, unix.IPPROTO_TCP),
		asm.Mov.Imm(asm.R3, unix.TCP_NODELAY),
		asm.Mov.Reg(asm.R4, asm.RFP),
		asm.Add.Imm(asm.R4, -8),
		asm.Mov.Imm(asm.R5, 4),
		asm.FnSetsockopt.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("done"),
		asm.Return(),
	}))
}

// attachTCPIterator attaches an iterator over all TCP sockets. It is never read, so no socket is
// visited.
func attachTCPIterator(program asm.Instructions) error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "airtide_doctor", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceIter, AttachTo: "tcp",
		License: "GPL", Instructions: program,
	})
	if err != nil {
		return fmt.Errorf("loading an iterator over TCP sockets: %w", err)
	}
	defer prog.Close()
	l, err := link.AttachIter(link.IterOptions{Program: prog})
	if err != nil {
		return fmt.Errorf("attaching an iterator over TCP sockets: %w", err)
	}
	return l.Close()
}

// probeSockOpsAttach attaches an empty program to a cgroup without processes and removes both.
func probeSockOpsAttach(m *machine) finding {
	mount, err := owner.CgroupMount()
	if err != nil {
		return missing("no cgroup v2 hierarchy is mounted")
	}
	folder := filepath.Join(mount, fmt.Sprintf("airtide-doctor-%d", os.Getpid()))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return m.judge(err, capSysAdmin)
	}
	err = attachSockOps(folder)
	if removed := os.Remove(folder); removed != nil {
		err = errors.Join(err, fmt.Errorf("removing the cgroup made for the trial: %w", removed))
	}
	return m.judgeBPF(err, capNetAdmin)
}

func attachSockOps(cgroup string) error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "airtide_doctor", Type: ebpf.SockOps, License: "GPL", Instructions: emptyProgram(),
	})
	if err != nil {
		return fmt.Errorf("loading a sock_ops program: %w", err)
	}
	defer prog.Close()
	l, err := link.AttachCgroup(link.CgroupOptions{Path: cgroup, Attach: ebpf.AttachCGroupSockOps, Program: prog})
	if err != nil {
		return fmt.Errorf("attaching a sock_ops program: %w", err)
	}
	return l.Close()
}

// attachTCX attaches a program to the egress of the loopback device.
func attachTCX() error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "airtide_doctor", Type: ebpf.SchedCLS, License: "GPL", Instructions: emptyProgram(),
	})
	if err != nil {
		return fmt.Errorf("loading a program for a device: %w", err)
	}
	defer prog.Close()
	const loopback = 1
	l, err := link.AttachTCX(link.TCXOptions{Interface: loopback, Program: prog, Attach: ebpf.AttachTCXEgress})
	if err != nil {
		return fmt.Errorf("attaching to a device: %w", err)
	}
	return l.Close()
}
