package vm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Paths in a guest.
const (
	// Program is this program.
	Program     = "/bin/airtide"
	taskFile    = "/guest.json"
	modulesPath = "/modules"
)

// task is the configuration that a guest reads from its image.
type task struct {
	Modules []string `json:"modules"` // names in the order of loading
	Net     *Net     `json:"net,omitempty"`
}

// baseModules are the modules that every guest needs if they are not built in: its devices and the
// query of sockets.
var baseModules = []string{"virtio_pci", "virtio_console", "tcp_diag"}

// image makes the initramfs of a guest, in memory.
func (c *Config) image(ctx context.Context) (image *os.File, err error) {
	image, err = memoryFile("airtide-guest")
	if err != nil {
		return nil, err
	}
	if err := c.writeImage(ctx, newArchive(image)); err != nil {
		image.Close()
		return nil, fmt.Errorf("making the guest's image: %w", err)
	}
	return image, nil
}

// memoryFile makes a file without a path, in memory.
func memoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making room for the guest's files: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (c *Config) writeImage(ctx context.Context, a *archive) error {
	program := c.Program
	if program == "" {
		var err error
		program, err = self()
		if err != nil {
			return err
		}
	}
	needed := append([]string{}, baseModules...)
	if c.Net != nil {
		needed = append(needed, "virtio_net")
	}
	all, err := readModules(c.Kernel.Modules)
	if err != nil {
		return err
	}
	load, err := all.load(ctx, append(needed, c.Modules...)...)
	if err != nil {
		return err
	}
	s := task{Net: c.Net}
	for _, m := range load {
		s.Modules = append(s.Modules, m.name)
		a.file(modulesPath+"/"+m.name+".ko", m.content)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	a.file(taskFile, text)
	for _, folder := range []string{"/dev", "/proc", "/sys", "/run", "/tmp", "/etc", "/root", "/var"} {
		a.folder(folder)
	}
	a.device("/dev/console", 5, 1)
	a.device("/dev/null", 1, 3)
	a.file("/etc/passwd", []byte("root:x:0:0:root:/root:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n"))
	a.file("/etc/hosts", []byte("127.0.0.1 localhost\n::1 localhost\n"))
	a.copy(Program, program)
	a.link("/init", Program)
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		a.copy(name, c.Files[name])
	}
	// Tests use their own program, which may be linked dynamically.
	own, err := libraries(ctx, program)
	if err != nil {
		return err
	}
	for _, file := range own {
		a.copy(file, file)
	}
	if err := a.addPrograms(ctx, c.Programs); err != nil {
		return err
	}
	return a.close()
}
