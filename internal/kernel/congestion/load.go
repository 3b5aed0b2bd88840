package congestion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"airtide/internal/sys/command"
)

// DefaultBPFFS is the usual mount point of the BPF file system.
const DefaultBPFFS = "/sys/fs/bpf"

// pinFolder is the folder of pinned congestion controls on the BPF file system. The file has the
// name of the congestion control.
const pinFolder = "airtide/cc"

// Options say how to load.
type Options struct {
	// Name under which it is registered; "" means the kind's. At most 15 letters, digits and
	// underscores.
	Name       string
	Parameters Parameters
	// Pin makes it outlive the process.
	Pin bool
	// BPFFS is the mount point of the BPF file system. An empty string means DefaultBPFFS.
	BPFFS string
}

var validName = regexp.MustCompile(`^[a-zA-Z0-9_]{1,15}$`)

// CheckName returns an error if a congestion control cannot have this name.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("name %q: want 1 to 15 letters, digits and underscores", name)
	}
	return nil
}

// Loaded is a congestion control that this process has loaded.
type Loaded struct {
	Name   string
	Kind   Kind
	Pinned string // the file that keeps it; "" when it ends with this process
	link   link.Link
}

// Close lets go of it: unless it is pinned it is unregistered.
func (l *Loaded) Close() error { return l.link.Close() }

// Run runs a command while the control is loaded. A command with another status than 0 is a
// *command.ExitError.
func (l *Loaded) Run(ctx context.Context, argv []string) error {
	return command.Run(ctx, argv, command.Options{})
}

// Load registers a congestion control. A name that is in use is ErrInUse, a kernel that is too old
// or does not allow it ErrNotSupported.
func Load(k Kind, o Options) (*Loaded, error) {
	if err := k.Check(); err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = string(k)
	}
	if err := CheckName(o.Name); err != nil {
		return nil, err
	}
	if err := o.Parameters.Check(k); err != nil {
		return nil, err
	}
	pin := ""
	if o.Pin {
		var err error
		pin, err = preparePin(o.BPFFS, o.Name)
		if err != nil {
			return nil, err
		}
	}
	// Refused without CAP_SYS_RESOURCE, and not needed by kernels that have links of struct_ops.
	_ = rlimit.RemoveMemlock()
	l, err := register(k, o)
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", o.Name, explain(err))
	}
	if pin != "" {
		if err := l.Pin(pin); err != nil {
			return nil, errors.Join(fmt.Errorf("pinning %s: %w", o.Name, err), l.Close())
		}
	}
	return &Loaded{Name: o.Name, Kind: k, Pinned: pin, link: l}, nil
}

func register(k Kind, o Options) (link.Link, error) {
	hz, err := TickRate()
	if err != nil {
		return nil, err
	}
	spec, err := programs[k].load()
	if err != nil {
		return nil, fmt.Errorf("reading the program: %w", err)
	}
	if err := spec.Variables["parameters"].Set(toWire(k, o.Parameters, hz)); err != nil {
		return nil, fmt.Errorf("setting parameters: %w", err)
	}
	if err := rename(spec.Maps["congestion_ops"], o.Name); err != nil {
		return nil, err
	}
	objects, err := loadOps(spec)
	if err != nil {
		return nil, err
	}
	// The link keeps references to the programs and maps that it needs.
	defer objects.Close()
	return link.AttachStructOps(link.StructOpsOptions{Map: objects.Maps["congestion_ops"]})
}

// preparePin creates the folder for pins and returns the path of the pin. It mounts the BPF file
// system if necessary.
func preparePin(bpffs, name string) (string, error) {
	if bpffs == "" {
		bpffs = DefaultBPFFS
	}
	if err := EnsureBPFFS(bpffs); err != nil {
		return "", fmt.Errorf("pinning %s: %w", name, err)
	}
	folder := filepath.Join(bpffs, pinFolder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("pinning %s: %w", name, err)
	}
	path := filepath.Join(folder, name)
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("loading %s: %w: %s is there (airtide cc unload %s)", name, ErrInUse, path, name)
	}
	return path, nil
}
