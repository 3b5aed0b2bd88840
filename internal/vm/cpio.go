package vm

import (
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// archive writes an initramfs in the kernel's format (newc,
// Documentation/driver-api/early-userspace/buffer-format.rst): uncompressed, which boots fastest.
type archive struct {
	to      io.Writer
	written int64
	folders map[string]bool
	inode   int
	err     error
}

func newArchive(to io.Writer) *archive {
	return &archive{to: to, folders: map[string]bool{".": true, "/": true}}
}

func (a *archive) write(b []byte) {
	if a.err == nil {
		var n int
		n, a.err = a.to.Write(b)
		a.written += int64(n)
	}
}

// align pads to a multiple of 4 bytes.
func (a *archive) align() { a.write(make([]byte, (4-a.written%4)%4)) }

// entry writes the head of a file. The content and align follow.
func (a *archive) entry(name string, mode uint32, size int64, major, minor uint32) {
	if folder := path.Dir(name); !a.folders[folder] {
		a.folder(folder)
	}
	name = strings.TrimPrefix(name, "/")
	a.inode++
	a.write(fmt.Appendf(
		nil, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", a.inode, mode, 0, 0, 1, 0, size, 0, 0,
		major, minor, len(name)+1, 0))
	a.write(append([]byte(name), 0))
	a.align()
}

// folder makes a folder and its parents, once.
func (a *archive) folder(name string) {
	if a.folders[name] {
		return
	}
	a.folders[name] = true
	a.entry(name, unix.S_IFDIR|0o755, 0, 0, 0)
}

func (a *archive) device(name string, major, minor uint32) {
	a.entry(name, unix.S_IFCHR|0o600, 0, major, minor)
}

func (a *archive) link(name, to string) { a.data(name, unix.S_IFLNK|0o777, []byte(to)) }

func (a *archive) file(name string, content []byte) { a.data(name, unix.S_IFREG|0o755, content) }

func (a *archive) data(name string, mode uint32, content []byte) {
	a.entry(name, mode, int64(len(content)), 0, 0)
	a.write(content)
	a.align()
}

// copy adds a file of the host.
func (a *archive) copy(name, from string) {
	if a.err != nil {
		return
	}
	content, err := os.ReadFile(from)
	if err != nil {
		a.err = err
		return
	}
	a.file(name, content)
}

// close writes the end of the archive.
func (a *archive) close() error {
	a.entry("TRAILER!!!", 0, 0, 0, 0)
	return a.err
}
