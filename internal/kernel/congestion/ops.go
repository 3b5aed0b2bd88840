package congestion

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// nameBytes is TCP_CA_NAME_MAX, with the zero at the end.
const nameBytes = 16

// rename sets the name in the structure that a program hands to the kernel.
func rename(spec *ebpf.MapSpec, name string) error {
	ops, ok := btf.As[*btf.Struct](spec.Value)
	if !ok || len(spec.Contents) != 1 {
		return errors.New("naming the congestion control: its structure is not there")
	}
	value, ok := spec.Contents[0].Value.([]byte)
	if !ok {
		return errors.New("naming the congestion control: its structure has no bytes")
	}
	for _, m := range ops.Members {
		if m.Name == "name" {
			field := value[m.Offset.Bytes():][:nameBytes]
			clear(field)
			copy(field[:nameBytes-1], name)
			return nil
		}
	}
	return errors.New("naming the congestion control: its structure has no name")
}

// loadOps loads a congestion control without the hooks that the kernel does not have:
// cwnd_event_tx_start is younger than the oldest kernel that can do with a program.
func loadOps(spec *ebpf.CollectionSpec) (*ebpf.Collection, error) {
	ops, _, err := kernelOps()
	if err != nil {
		return nil, err
	}
	for name, program := range spec.Programs {
		hook, isHook := strings.CutPrefix(program.AttachTo, opsType+":")
		if isHook && !slices.ContainsFunc(ops.Members, func(m btf.Member) bool { return m.Name == hook }) {
			delete(spec.Programs, name)
		}
	}
	return ebpf.NewCollection(spec)
}

// layout locates the name and the program IDs in the kernel structure of a registered map.
type layout struct {
	name      uint32
	functions []uint32
}

func kernelLayout() (*layout, error) {
	ops, at, err := kernelOps()
	if err != nil {
		return nil, err
	}
	l := &layout{}
	for _, field := range ops.Members {
		at := (at + field.Offset).Bytes()
		if field.Name == "name" {
			l.name = at
		}
		if p, ok := btf.As[*btf.Pointer](field.Type); ok {
			if _, ok := btf.As[*btf.FuncProto](p.Target); ok {
				l.functions = append(l.functions, at)
			}
		}
	}
	return l, nil
}

// kernelOps returns tcp_congestion_ops from the kernel's BTF, and its offset in the value of a
// registered map.
func kernelOps() (ops *btf.Struct, at btf.Bits, err error) {
	types, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, 0, fmt.Errorf("reading the kernel's types: %w", err)
	}
	var value *btf.Struct
	if err := types.TypeByName("bpf_struct_ops_"+opsType, &value); err != nil {
		return nil, 0, fmt.Errorf("%w: it has no struct_ops for TCP: %w", ErrNotSupported, err)
	}
	for _, m := range value.Members {
		if ops, ok := btf.As[*btf.Struct](m.Type); ok && ops.Name == opsType {
			return ops, m.Offset, nil
		}
	}
	return nil, 0, fmt.Errorf("reading the kernel's types: %s has no %s", value.Name, opsType)
}

// read takes the name and the programs of a registered map.
func (l *layout) read(m *ebpf.Map) (name string, programs []ebpf.ProgramID, err error) {
	value := make([]byte, m.ValueSize())
	if err := m.Lookup(uint32(0), &value); err != nil {
		return "", nil, fmt.Errorf("reading a congestion control: %w", err)
	}
	name = unix.ByteSliceToString(value[l.name:][:nameBytes])
	for _, at := range l.functions {
		if id := binary.NativeEndian.Uint64(value[at:]); id != 0 {
			programs = append(programs, ebpf.ProgramID(id))
		}
	}
	return name, programs, nil
}
