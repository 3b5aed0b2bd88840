package timewarp

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

// Only a BPF program of a cgroup can set TCP's initial RTO (BPF_SOCK_OPS_TIMEOUT_INIT, Linux 4.13).
// bpf/timewarp/rto.bpf.c is attached to the root cgroup while N differs from 1. It is attached
// without a link, because a link would end with the process, and N does not.

// rootCgroup opens the root of the unified hierarchy, mounted or not (Linux 5.2).
func rootCgroup() (fd int, err error) {
	fs, err := unix.Fsopen("cgroup2", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("opening cgroups: %w", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return 0, fmt.Errorf("opening cgroups: %w", err)
	}
	fd, err = unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("opening cgroups: %w", err)
	}
	return fd, nil
}

// attachInitialRTO attaches the program and replaces an attached one.
func attachInitialRTO(at uint64) error {
	if err := detachInitialRTO(); err != nil {
		return err
	}
	// Refused without CAP_SYS_RESOURCE, and not needed from kernel 5.11 on.
	_ = rlimit.RemoveMemlock()
	spec, err := loadInitialRTO()
	if err != nil {
		return fmt.Errorf("reading the embedded object: %w", err)
	}
	if err := spec.Variables[initialRTOVarInitialRtoAt].Set(at); err != nil {
		return fmt.Errorf("setting the address of the module's initial RTO: %w", err)
	}
	objects, err := ebpf.NewCollection(spec)
	if err != nil {
		return fmt.Errorf("loading a BPF program for the initial RTO: %w", err)
	}
	defer objects.Close()
	root, err := rootCgroup()
	if err != nil {
		return err
	}
	defer unix.Close(root)
	err = link.RawAttachProgram(link.RawAttachProgramOptions{
		Target: root, Program: objects.Programs[initialRTOProgTimewarpRto], Attach: ebpf.AttachCGroupSockOps,
		Flags: unix.BPF_F_ALLOW_MULTI,
	})
	if err != nil {
		return fmt.Errorf("attaching a BPF program for the initial RTO: %w", err)
	}
	return nil
}

// detachInitialRTO detaches all such programs, including those of killed processes.
func detachInitialRTO() error {
	root, err := rootCgroup()
	if err != nil {
		return nil // then there is none
	}
	defer unix.Close(root)
	err = eachInitialRTO(root, func(p *ebpf.Program) error {
		return link.RawDetachProgram(
			link.RawDetachProgramOptions{Target: root, Program: p, Attach: ebpf.AttachCGroupSockOps},
		)
	})
	if err != nil {
		return fmt.Errorf("detaching the BPF program for the initial RTO: %w", err)
	}
	return nil
}

// eachInitialRTO calls f with each attached program of this name.
func eachInitialRTO(root int, f func(*ebpf.Program) error) error {
	attached, err := link.QueryPrograms(link.QueryOptions{Target: root, Attach: ebpf.AttachCGroupSockOps})
	if errors.Is(err, ebpf.ErrNotSupported) || errors.Is(err, unix.EINVAL) {
		return nil // a kernel without BPF programs of cgroups
	}
	if err != nil {
		return err
	}
	for _, a := range attached.Programs {
		p, err := ebpf.NewProgramFromID(a.ID)
		if errors.Is(err, os.ErrNotExist) {
			continue // detached meanwhile
		}
		if err != nil {
			return err
		}
		info, err := p.Info()
		if err == nil && info.Name == initialRTOProgTimewarpRto {
			err = f(p)
		}
		if err := errors.Join(err, p.Close()); err != nil {
			return err
		}
	}
	return nil
}
