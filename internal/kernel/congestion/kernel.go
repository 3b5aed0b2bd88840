package congestion

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// Errors that callers may test for.
var (
	// ErrInUse means that a congestion control with this name is registered already.
	ErrInUse = errors.New("the name is in use")
	// ErrNotLoaded means that no congestion control of airtide has this name.
	ErrNotLoaded = errors.New("not loaded by airtide")
	// ErrNotSupported means that the kernel lacks struct_ops or refuses it to this process.
	ErrNotSupported = errors.New("this kernel cannot load congestion controls")
)

// opsType is the kernel's structure that a congestion control fills in.
const opsType = "tcp_congestion_ops"

// Available returns the congestion controls that the kernel knows, including loaded ones.
func Available() ([]string, error) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return nil, fmt.Errorf("reading the kernel's congestion controls: %w", err)
	}
	names := strings.Fields(string(text))
	slices.Sort(names)
	return names, nil
}

// needsRoot is the error of a process without the necessary privileges. The kernel's texts about
// locked memory would not help its user.
type needsRoot struct{}

func (needsRoot) Error() string {
	return "congestion controls need root, or CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN"
}

// Is makes it an ErrNotSupported and an os.ErrPermission.
func (needsRoot) Is(target error) bool {
	return target == ErrNotSupported || target == os.ErrPermission
}

// explain adds the likely cause on this kernel to a loading error.
func explain(err error) error {
	switch {
	case errors.Is(err, os.ErrPermission) && os.Geteuid() != 0:
		return needsRoot{}
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: it needs root, or CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN: %w", ErrNotSupported, err)
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("%w: %w", ErrInUse, err)
	}
	if why := lacking(btf.LoadKernelSpec); why != "" {
		return fmt.Errorf("%w: %s: %w", ErrNotSupported, why, err)
	}
	var refused *ebpf.VerifierError
	if errors.As(err, &refused) && len(refused.Log) > 0 { // without, it did not come to the verifier
		return fmt.Errorf("the verifier of this kernel refuses the program: %w", err)
	}
	return err
}

// lacking names the feature that the kernel lacks according to its BTF, or returns "".
func lacking(load func() (*btf.Spec, error)) string {
	types, err := load()
	if err != nil {
		return "it exposes no BTF (CONFIG_DEBUG_INFO_BTF)"
	}
	if _, err := types.AnyTypeByName("bpf_struct_ops_" + opsType); err != nil {
		return "it has no struct_ops for TCP (Linux 5.6, CONFIG_BPF_JIT and CONFIG_BPF_SYSCALL)"
	}
	// The function came with links of struct_ops.
	if _, err := types.AnyTypeByName("bpf_struct_ops_link_create"); err != nil {
		return "it cannot register congestion controls through a link (Linux 6.4); " +
			"without a link they would outlive a killed process"
	}
	return ""
}

// isBPFFS reports whether a folder is on a mounted BPF file system.
func isBPFFS(folder string) bool {
	var s unix.Statfs_t
	return unix.Statfs(folder, &s) == nil && s.Type == unix.BPF_FS_MAGIC
}
