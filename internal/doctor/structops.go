package doctor

import (
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

const congestionOps = "tcp_congestion_ops"

// probeStructOps looks for the program type and for its support of congestion controls.
func probeStructOps(m *machine) finding {
	if err := features.HaveProgramType(ebpf.StructOps); err != nil {
		return m.judgeBPF(err)
	}
	if found, certain := m.knows("bpf_struct_ops_" + congestionOps); certain && !found {
		return missing("struct_ops exists, but not for congestion controls")
	}
	return ok("")
}

// linkCongestionControl registers a minimal congestion control through a link (Linux 6.4) and
// removes it. Its name is private, so no socket uses it meanwhile.
func linkCongestionControl() error {
	name := fmt.Sprintf("airtide%d", os.Getpid()) // at most 15 characters
	spec := congestionControlSpec(name)
	objects, err := ebpf.NewCollection(spec)
	if err != nil {
		return fmt.Errorf("loading a congestion control: %w", err)
	}
	defer objects.Close()
	l, err := link.AttachStructOps(link.StructOpsOptions{Map: objects.Maps[name]})
	if err != nil {
		return fmt.Errorf("registering a congestion control: %w", err)
	}
	return l.Close()
}

// congestionControlSpec returns a congestion control with the name and three functions that
// tcp_register_congestion_control requires.
func congestionControlSpec(name string) *ebpf.CollectionSpec {
	const pointerBytes, nameBytes = 8, 16 // TCP_CA_NAME_MAX
	char := &btf.Int{Name: "char", Size: 1, Encoding: btf.Char}
	members := []btf.Member{}
	programs := map[string]*ebpf.ProgramSpec{}
	for i, function := range []struct {
		name    string
		returns btf.Type
	}{
		{"ssthresh", &btf.Int{Name: "unsigned int", Size: 4}},
		{"undo_cwnd", &btf.Int{Name: "unsigned int", Size: 4}},
		{"cong_avoid", &btf.Void{}},
	} {
		members = append(members, btf.Member{
			Name:   function.name,
			Type:   &btf.Pointer{Target: &btf.FuncProto{Return: function.returns}},
			Offset: btf.Bits(i * pointerBytes * 8),
		})
		programs[function.name] = &ebpf.ProgramSpec{
			Name: "airtide_doctor", Type: ebpf.StructOps, AttachTo: congestionOps + ":" + function.name, License: "GPL",
			Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()},
		}
	}
	nameOffset := len(members) * pointerBytes
	members = append(members, btf.Member{
		Name:   "name",
		Type:   &btf.Array{Index: &btf.Int{Name: "int", Size: 4}, Type: char, Nelems: nameBytes},
		Offset: btf.Bits(nameOffset * 8),
	})
	size := nameOffset + nameBytes
	value := make([]byte, size)
	copy(value[nameOffset:size-1], name)
	return &ebpf.CollectionSpec{
		Maps: map[string]*ebpf.MapSpec{name: {
			Name: name, Type: ebpf.StructOpsMap, MaxEntries: 1, Flags: unix.BPF_F_LINK,
			Key: &btf.Int{Size: 4}, KeySize: 4, ValueSize: uint32(size),
			Value:    &btf.Struct{Name: congestionOps, Size: uint32(size), Members: members},
			Contents: []ebpf.MapKV{{Key: uint32(0), Value: value}},
		}},
		Programs: programs,
	}
}
