package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"airtide/internal/kernel/congestion"
	"airtide/internal/kernel/congestion/kind"
)

// Errors that callers may test for.
var (
	// ErrNotSupported means that the kernel lacks a feature or refuses it to this process.
	ErrNotSupported = errors.New("not supported here")
	// ErrNoSuch means that no tune has this ID.
	ErrNoSuch = errors.New("there is no such tune")

	errNoIterator = errors.New("changing sockets from BPF needs Linux 5.16 (bpf_setsockopt in iter/tcp)")
	errNoRTOMax   = fmt.Errorf("%w: the maximum RTO of a socket needs Linux 6.15 (TCP_RTO_MAX_MS)", ErrNotSupported)
)

// kernel holds the properties of the running kernel.
type kernel struct {
	hz        int
	hasRTOMax bool
}

// examineKernel finds it out.
func examineKernel() (*kernel, error) {
	if os.Geteuid() != 0 {
		return nil, needsRoot{}
	}
	// This fails without CAP_SYS_RESOURCE. Linux 5.11 and later charge BPF memory to the cgroup and
	// do not need it.
	_ = rlimit.RemoveMemlock()
	types, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, fmt.Errorf("%w: the kernel exposes no BTF (CONFIG_DEBUG_INFO_BTF): %w", ErrNotSupported, err)
	}
	k := &kernel{}
	var connection *btf.Struct
	if err := types.TypeByName("inet_connection_sock", &connection); err != nil {
		return nil, fmt.Errorf("%w: the kernel has no TCP: %w", ErrNotSupported, err)
	}
	k.hasRTOMax = slices.ContainsFunc(connection.Members, func(m btf.Member) bool { return m.Name == "icsk_rto_max" })
	k.hz, err = congestion.TickRate()
	if errors.Is(err, unix.EINVAL) { // it asks a program of type syscall, which Linux 5.14 has
		return nil, fmt.Errorf("%w: %w: %w", ErrNotSupported, errNoIterator, err)
	} else if err != nil {
		return nil, err
	}
	return k, nil
}

// checkCongestionControl returns an error if sockets cannot use the congestion control.
func checkCongestionControl(name string) error {
	if name == "" {
		return nil
	}
	available, err := congestion.Available()
	if err != nil {
		return err
	}
	if slices.Contains(available, name) {
		return nil
	}
	hint := ""
	if slices.Contains(kind.All(), kind.Kind(name)) {
		hint = fmt.Sprintf("; load it: airtide cc load %s --pin", name)
	}
	return fmt.Errorf("congestion control %q: this kernel has %s%s", name, strings.Join(available, ", "), hint)
}

// coreLimit reads a sysctl of net.core that bounds a size.
func coreLimit(name string) (int64, error) {
	text, err := os.ReadFile("/proc/sys/net/core/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		// Older kernels show the limit in their first network namespace only. Each socket reports a
		// value that was cut.
		return math.MaxInt64, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading net.core.%s: %w", name, err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading net.core.%s: %w", name, err)
	}
	return n, nil
}

// needsRoot is the error of a process without the necessary privileges.
type needsRoot struct{}

func (needsRoot) Error() string { return "other processes' sockets are seen and changed by root only" }

// Is makes it an ErrNotSupported and an os.ErrPermission.
func (needsRoot) Is(target error) bool {
	return target == ErrNotSupported || target == os.ErrPermission
}

// explain adds the likely cause to a loading error.
func explain(err error) error {
	var refused *ebpf.VerifierError
	switch {
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: loading BPF programs needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN: %w",
			ErrNotSupported, err)
	case errors.As(err, &refused), errors.Is(err, ebpf.ErrNotSupported):
		return fmt.Errorf("%w: %w: %w", ErrNotSupported, errNoIterator, err)
	}
	return fmt.Errorf("loading BPF programs: %w", err)
}
