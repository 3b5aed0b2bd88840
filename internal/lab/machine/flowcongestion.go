package machine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/sys/leftover"
)

// CheckCongestion checks that the kernel has a congestion control. If it is a module, the kernel
// loads it.
func CheckCongestion(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return fmt.Errorf("opening a socket to try congestion control %s: %w", name, err)
	}
	defer unix.Close(fd)
	err = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	if errors.Is(err, unix.ENOENT) {
		return noCongestion(name)
	}
	if err != nil {
		return fmt.Errorf("trying congestion control %s: %w", name, err)
	}
	return nil
}

// CongestionGroup sets the congestion control of programs that have no option for it. Programs in
// its cgroup use it for each connect(). It needs cgroup v2 and Linux 5.8.
type CongestionGroup struct {
	path  string
	dir   *os.File
	links []link.Link
}

const congestionGroupPrefix = "airtide-flow-"

// congestionNameMax is TCP_CA_NAME_MAX, which includes the final zero.
const congestionNameMax = 16

// NewCongestionGroup makes a group. This process must use each name once.
func NewCongestionGroup(name, congestion string) (g *CongestionGroup, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("giving %s congestion control %s: %w", name, congestion, err)
		}
	}()
	if len(congestion) >= congestionNameMax {
		return nil, errors.New("its name is longer than the kernel allows")
	}
	groups, err := owner.OpenCgroups()
	if err != nil {
		return nil, err
	}
	// The kernel keeps groups that still contain processes.
	leftover.Remove(groups.Mount(), congestionGroupPrefix, leftover.Ended, os.Remove)
	folder := congestionGroupPrefix + leftover.Owner(os.Getpid()) + "-" + name
	g = &CongestionGroup{path: filepath.Join(groups.Mount(), folder)}
	if err := os.Mkdir(g.path, 0o755); err != nil {
		return nil, fmt.Errorf("making a cgroup: %w", err)
	}
	if err := g.attach(congestion); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (g *CongestionGroup) attach(congestion string) (err error) {
	g.dir, err = os.Open(g.path)
	if err != nil {
		return fmt.Errorf("opening the cgroup: %w", err)
	}
	for _, at := range []ebpf.AttachType{ebpf.AttachCGroupInet4Connect, ebpf.AttachCGroupInet6Connect} {
		p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
			Name: "airtide_flow_cc", Type: ebpf.CGroupSockAddr, AttachType: at,
			Instructions: chooseCongestion(congestion), License: "GPL",
		})
		if err != nil {
			return fmt.Errorf("loading the program that chooses it: %w", err)
		}
		l, err := link.AttachCgroup(link.CgroupOptions{Path: g.path, Attach: at, Program: p})
		p.Close() // the link keeps the program
		if err != nil {
			return fmt.Errorf("attaching the program that chooses it: %w", err)
		}
		g.links = append(g.links, l)
	}
	return nil
}

// chooseCongestion calls setsockopt(TCP_CONGESTION) on the connecting socket. If it fails,
// connect() fails as well.
func chooseCongestion(name string) asm.Instructions {
	text := make([]byte, congestionNameMax)
	copy(text, name)
	word := func(b []byte) int64 { return int64(binary.NativeEndian.Uint64(b)) }
	return asm.Instructions{
		asm.LoadImm(asm.R2, word(text[:8]), asm.DWord),
		asm.StoreMem(asm.RFP, -16, asm.R2, asm.DWord),
		asm.LoadImm(asm.R2, word(text[8:]), asm.DWord),
		asm.StoreMem(asm.RFP, -8, asm.R2, asm.DWord),
		asm.Mov.Imm(asm.R2, unix.IPPROTO_TCP),
		asm.Mov.Imm(asm.R3, unix.TCP_CONGESTION),
		asm.Mov.Reg(asm.R4, asm.RFP),
		asm.Add.Imm(asm.R4, -16),
		asm.Mov.Imm(asm.R5, int32(len(name))),
		asm.FnSetsockopt.Call(),
		asm.Mov.Reg(asm.R1, asm.R0),
		asm.Mov.Imm(asm.R0, 1), // continue
		asm.JEq.Imm(asm.R1, 0, "end"),
		asm.Mov.Imm(asm.R0, 0), // EPERM
		asm.Return().WithSymbol("end"),
	}
}

// Dir returns the folder of the cgroup, for Command.
func (g *CongestionGroup) Dir() *os.File { return g.dir }

// Close removes the group. All its programs must have ended.
func (g *CongestionGroup) Close() error {
	var errs []error
	for _, l := range g.links {
		errs = append(errs, l.Close())
	}
	if g.dir != nil {
		errs = append(errs, g.dir.Close())
	}
	return errors.Join(append(errs, os.Remove(g.path))...)
}
