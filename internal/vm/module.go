package vm

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"airtide/internal/sys/tool"
)

// module is a module to load.
type module struct {
	name    string
	content []byte
}

// modules are the modules of a kernel.
type modules struct {
	folder  string
	files   map[string]string // module name to path
	builtin map[string]bool
}

// readModules lists the modules in a folder such as /lib/modules/RELEASE of a package, which has no
// lists of depmod.
func readModules(folder string) (*modules, error) {
	m := &modules{folder: folder, files: map[string]string{}, builtin: map[string]bool{}}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if name, ok := moduleName(path); ok && err == nil && !d.IsDir() {
			m.files[name] = path
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing the kernel's modules: %w", err)
	}
	list, err := os.ReadFile(filepath.Join(folder, "modules.builtin"))
	if err != nil {
		return nil, fmt.Errorf("listing what is built into the kernel: %w", err)
	}
	for line := range strings.Lines(string(list)) {
		if name, ok := moduleName(strings.TrimSpace(line)); ok {
			m.builtin[name] = true
		}
	}
	return m, nil
}

// moduleName returns the name of the module in a file, as in the dependencies of other modules.
func moduleName(path string) (string, bool) {
	name, _, ok := strings.Cut(filepath.Base(path), ".ko")
	return strings.ReplaceAll(name, "-", "_"), ok
}

// load returns the named modules and their dependencies. A module follows its dependencies.
func (m *modules) load(ctx context.Context, names ...string) ([]module, error) {
	var all []module
	added := map[string]bool{}
	var add func(name, by string) error
	add = func(name, by string) error {
		if added[name] || m.builtin[name] {
			return nil
		}
		added[name] = true
		path, ok := m.files[name]
		if !ok {
			return fmt.Errorf("the kernel of %s has no module %s%s", m.folder, name, by)
		}
		content, err := readModule(ctx, path)
		if err != nil {
			return err
		}
		needed, err := depends(content)
		if err != nil {
			return fmt.Errorf("reading module %s: %w", path, err)
		}
		for _, n := range needed {
			if err := add(n, ", which "+name+" needs"); err != nil {
				return err
			}
		}
		all = append(all, module{name, content})
		return nil
	}
	for _, name := range names {
		if err := add(name, ""); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readModule reads a module. It may be compressed, as Debian's modules are since kernel 6.12.
func readModule(ctx context.Context, path string) ([]byte, error) {
	if filepath.Ext(path) != ".xz" {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading a module: %w", err)
		}
		return content, nil
	}
	var stderr bytes.Buffer
	c := tool.Command(ctx, "xz", "--decompress", "--stdout", path)
	c.Stderr = &stderr
	content, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("decompressing module %s (Debian: apt install xz-utils): %w: %s", path, err,
			bytes.TrimSpace(stderr.Bytes()))
	}
	return content, nil
}

// depends returns the dependencies that a module declares.
func depends(content []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("it has no section .modinfo")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	for line := range bytes.SplitSeq(info, []byte{0}) {
		if list, ok := bytes.CutPrefix(line, []byte("depends=")); ok && len(list) > 0 {
			return strings.Split(strings.ReplaceAll(string(list), "-", "_"), ","), nil
		}
	}
	return nil, nil
}
