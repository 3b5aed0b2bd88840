package bpf

import (
	"fmt"
	"io"

	"github.com/cilium/ebpf/btf"

	"airtide/internal/sys/file"
)

// maxTypes is the largest number of bytes that are read from a file with BTF. Kernels have 5 to 15
// MB of BTF. From a whole vmlinux only this section and the tables are read.
const maxTypes = 32 << 20

// ReadTypes reads the kernel's types from a file: BTF alone, or an ELF file that contains it.
func ReadTypes(path string) (*btf.Spec, error) {
	f, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return btf.LoadSpecFromReader(&limited{from: f, left: maxTypes, path: path})
}

// limited reads a part of a file, and then fails.
type limited struct {
	from io.ReaderAt
	left int64 // bytes
	path string
}

func (l *limited) ReadAt(p []byte, at int64) (int, error) {
	if int64(len(p)) > l.left {
		return 0, &file.TooLargeError{Path: l.path, Limit: maxTypes}
	}
	n, err := l.from.ReadAt(p, at)
	l.left -= int64(n)
	if err != nil && err != io.EOF {
		return n, fmt.Errorf("reading types: %w", err)
	}
	return n, err
}
