// Package testmodule makes files that pass for kernel modules, for tests of what reads them.
package testmodule

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"strings"
	"testing"
)

// Write writes the smallest ELF file with the facts that a module tells of itself, such as
// depends=veth.
func Write(tb testing.TB, path string, facts ...string) {
	tb.Helper()
	names := []byte("\x00.modinfo\x00.shstrtab\x00")
	info := []byte(strings.Join(facts, "\x00") + "\x00")
	const head = 64
	sections := []elf.Section64{
		{},
		{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: head, Size: uint64(len(info))},
		{Name: 10, Type: uint32(elf.SHT_STRTAB), Off: head + uint64(len(info)), Size: uint64(len(names))},
	}
	h := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Ehsize: head,
		Shoff: head + uint64(len(info)+len(names)), Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: 2,
	}
	var b bytes.Buffer
	for _, part := range []any{h, info, names, sections} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			tb.Fatal(err)
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		tb.Fatal(err)
	}
}
