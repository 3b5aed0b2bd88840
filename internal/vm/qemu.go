package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/thread"
	"airtide/internal/sys/tool"
)

// emulator has the properties that differ between architectures.
type emulator struct {
	program, pkg  string // program, and Debian's package of it
	machine       string
	emulated      string // model of the processor without KVM
	console, boot string // parameters of the kernel
}

// emulators by GOARCH. pauth-impdef=on replaces the architecture's algorithm of pointer signatures,
// which takes most of the time of emulated arm64. Without ERMS the kernel avoids copying and
// clearing memory byte by byte, which is slow in qemu: loading BPF programs took 20 % less.
//
// tsc=reliable prevents a slow clock, because the kernel would otherwise judge the TSC unstable.
var emulators = map[string]emulator{
	"amd64": {"qemu-system-x86_64", "qemu-system-x86", "pc", "max,-erms", "ttyS0", "tsc=reliable no_timer_check"},
	"arm64": {"qemu-system-aarch64", "qemu-system-arm", "virt", "max,pauth-impdef=on", "ttyAMA0", ""},
}

// Available returns an error if this machine cannot run guests. The error names the missing
// program.
func Available() error { return AvailableFor(runtime.GOARCH) }

// AvailableFor is Available for guests of an architecture in Go's spelling.
func AvailableFor(architecture string) error {
	e, ok := emulators[architecture]
	if !ok {
		return fmt.Errorf("virtual machines are not known on %s", architecture)
	}
	if _, err := tool.Find(e.program); err != nil {
		return fmt.Errorf("%s is not installed: apt-get install %s", e.program, e.pkg)
	}
	return nil
}

// guestVariable, in the environment of process 1, makes this program a guest's first process.
const guestVariable = "AIRTIDE_GUEST"

// portName is the name of the virtio-serial port to the host.
const portName = "airtide"

// Descriptors that qemu inherits, in the order of ExtraFiles.
const (
	controlFd = 3 + iota
	imageFd
	kernelFd
	tapFd
)

// sandbox keeps a guest that breaks out of qemu from starting programs, gaining rights and using
// system calls that qemu does not need (seccomp).
const sandbox = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"

// nobody is the user without rights as whom root's qemu runs.
const nobody = 65534

// sendBuffer is the limit of the guest's packets in its TAP, in bytes. It equals the size of a
// driver's ring. Further packets wait in the guest, so its TCP sees them.
const sendBuffer = 64 << 10

func (c *Config) arguments(e emulator, a Accelerator) []string {
	model := "host"
	accelerator := string(a)
	if a == TCG {
		// All processors of a guest share one thread. With one thread each, qemu 7.2 sometimes
		// executes an instruction that the kernel has replaced (static branches), and the kernel
		// panics with "Oops: int3".
		model = e.emulated + c.Kernel.withoutInstructions()
		accelerator += ",thread=single"
	}
	// Level 5 shows warnings and worse. WARN() is a warning.
	kernel := []string{"console=" + e.console, "loglevel=5", "panic=-1", guestVariable + "=1", e.boot}
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio",
		"-machine", e.machine, "-accel", accelerator, "-cpu", model,
		"-sandbox", sandbox, "-m", strconv.Itoa(c.MemoryMB), "-smp", strconv.Itoa(c.CPUs),
		"-kernel", fmt.Sprintf("/proc/self/fd/%d", kernelFd),
		"-initrd", fmt.Sprintf("/proc/self/fd/%d", imageFd), "-append",
		strings.Join(kernel, " "),
		"-device", "virtio-serial-pci", "-chardev", fmt.Sprintf("socket,id=control,fd=%d", controlFd),
		"-device", "virtserialport,chardev=control,name=" + portName,
	}
	if c.Net != nil {
		args = append(args, "-netdev", fmt.Sprintf("tap,id=net,fd=%d,sndbuf=%d", tapFd, sendBuffer),
			"-device", "virtio-net-pci,netdev=net,romfile=,mac="+hardwareAddress(c.Net.MAC))
	}
	return args
}

// withoutInstructions removes cmpxchg16b for kernels before 7: 6.12 crashes when qemu 7.2 emulates
// it. Later kernels do not crash, and need it to allocate memory in BPF programs (kmalloc_nolock in
// mm/slub.c).
func (k Kernel) withoutInstructions() string {
	major, _, _ := strings.Cut(k.Release, ".")
	if n, err := strconv.Atoi(major); k.architecture() != "amd64" || err == nil && n >= 7 {
		return ""
	}
	return ",-cx16"
}

func hardwareAddress(b []byte) string {
	parts := make([]string, len(b))
	for i, x := range b {
		parts[i] = fmt.Sprintf("%02x", x)
	}
	return strings.Join(parts, ":")
}

// qemu is a running qemu.
type qemu struct {
	command *exec.Cmd
	control *os.File // the host's end of the guest's port
	console *console
	ended   chan struct{}
	err     error // after ended
}

// user returns the user of qemu, or nil for that of this process. Root of a user namespace remains,
// because it has no rights outside, and root remains if only root may open /dev/kvm.
func (a Accelerator) user() *syscall.Credential {
	ids, err := os.ReadFile("/proc/self/uid_map")
	if os.Geteuid() != 0 || err != nil || !slices.Equal(strings.Fields(string(ids)), []string{"0", "0", "4294967295"}) {
		return nil
	}
	user := &syscall.Credential{Uid: nobody, Gid: nobody}
	if a != KVM {
		return user
	}
	var device unix.Stat_t
	if err := unix.Stat(kvmDevice, &device); err != nil || device.Mode&0o066 == 0 {
		return nil
	}
	user.Groups = []uint32{device.Gid}
	return user
}

// openKernel copies the kernel's file into memory, where qemu's user can read it.
func (c *Config) openKernel() (*os.File, error) {
	from, err := os.Open(c.Kernel.Image)
	if err != nil {
		return nil, fmt.Errorf("opening the guest's kernel: %w", err)
	}
	defer from.Close()
	to, err := memoryFile("airtide-kernel")
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return nil, fmt.Errorf("reading the guest's kernel: %w", err)
	}
	return to, nil
}

// launch starts qemu in its own session, so that Ctrl-C reaches only this process. The kernel kills
// qemu when this process dies.
func (c *Config) launch(a Accelerator, image *os.File) (*qemu, error) {
	e := emulators[c.Kernel.architecture()]
	kernel, err := c.openKernel()
	if err != nil {
		return nil, err
	}
	defer kernel.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("making the guest's port: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "guest")
	defer theirs.Close()
	if err := unix.SetNonblock(pair[0], true); err != nil { // lets Close end a Read
		unix.Close(pair[0])
		return nil, fmt.Errorf("making the guest's port: %w", err)
	}
	q := &qemu{
		control: os.NewFile(uintptr(pair[0]), "control"), console: &console{to: c.Console},
		ended: make(chan struct{}),
	}
	q.command = tool.Command(context.Background(), e.program, c.arguments(e, a)...)
	q.command.Stdout = q.console
	q.command.Stderr = q.console
	q.command.ExtraFiles = []*os.File{theirs, image, kernel}
	if c.Net != nil {
		q.command.ExtraFiles = append(q.command.ExtraFiles, c.Net.Tap)
	}
	q.command.Dir = "/"
	q.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Credential: a.user()}
	started := make(chan error)
	// The kernel sends the signal of the parent's death when the parent's thread ends.
	thread.Go(func() {
		err := q.command.Start()
		started <- err
		if err == nil {
			q.err = q.command.Wait()
			close(q.ended)
		}
	})
	if err := <-started; err != nil {
		q.control.Close()
		return nil, fmt.Errorf("starting qemu: %w", err)
	}
	return q, nil
}

// kill ends qemu and waits until it has ended.
func (q *qemu) kill() {
	_ = q.command.Process.Kill() // it may have ended
	<-q.ended
	q.control.Close()
}

// why returns the reason of a guest's end. It waits for the end.
func (q *qemu) why() error {
	<-q.ended
	err := errors.New("the virtual machine has ended")
	if q.err != nil {
		err = fmt.Errorf("%w: qemu: %w", err, q.err)
	}
	if said := q.console.tail(); said != "" {
		err = fmt.Errorf("%w; its last output: %s", err, said)
	}
	return err
}

// console keeps the end of the output of qemu and the guest's kernel.
type console struct {
	mu   sync.Mutex
	to   io.Writer
	last []byte
}

const consoleBytes = 2000

func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.to != nil {
		_, _ = c.to.Write(b) // a failure to save the console must not stop qemu
	}
	c.last = append(c.last, b...)
	c.last = c.last[max(0, len(c.last)-consoleBytes):]
	return len(b), nil
}

func (c *console) tail() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.TrimSpace(strings.ReplaceAll(string(c.last), "\r", ""))
}
