package rwnd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/thread"
)

// devices are the interfaces to which the programs are attached.
type devices struct {
	name      string // "" is all
	namespace *os.File
	links     map[int][]link.Link // key: interface index
}

const ownNamespace = "/proc/thread-self/ns/net"

func openDevices(name string) (d devices, err error) {
	d = devices{name: name, links: map[int][]link.Link{}}
	d.namespace, err = os.Open(ownNamespace)
	if err != nil {
		return d, fmt.Errorf("opening the network namespace: %w", err)
	}
	return d, nil
}

// look attaches to new interfaces and closes the links of removed ones.
func (d *devices) look(leaves, arrives *ebpf.Program) error {
	return d.inNamespace(func() error {
		all, err := net.Interfaces()
		if err != nil {
			return err
		}
		there := map[int]bool{}
		var errs []error
		for _, i := range all {
			if i.Flags&net.FlagLoopback != 0 || d.name != "" && i.Name != d.name {
				continue
			}
			there[i.Index] = true
			if d.links[i.Index] == nil {
				errs = append(errs, d.attach(i, leaves, arrives))
			}
		}
		for index := range d.links {
			if !there[index] {
				errs = append(errs, d.detach(index))
			}
		}
		return errors.Join(errs...)
	})
}

func (d *devices) attach(i net.Interface, leaves, arrives *ebpf.Program) error {
	for _, hook := range []struct {
		program *ebpf.Program
		at      ebpf.AttachType
	}{{leaves, ebpf.AttachTCXEgress}, {arrives, ebpf.AttachTCXIngress}} {
		l, err := link.AttachTCX(link.TCXOptions{Interface: i.Index, Program: hook.program, Attach: hook.at})
		switch {
		case errors.Is(err, ebpf.ErrNotSupported):
			return errors.Join(
				fmt.Errorf("%w: attaching to interface %s (needs Linux 6.6): %w", ErrNotSupported, i.Name, err),
				d.detach(i.Index),
			)
		case errors.Is(err, unix.ENODEV):
			return d.detach(i.Index) // it has gone meanwhile
		case err != nil:
			return errors.Join(fmt.Errorf("attaching to interface %s: %w", i.Name, err), d.detach(i.Index))
		}
		d.links[i.Index] = append(d.links[i.Index], l)
	}
	return nil
}

func (d *devices) detach(index int) error {
	var errs []error
	for _, l := range d.links[index] {
		errs = append(errs, l.Close())
	}
	delete(d.links, index)
	return errors.Join(errs...)
}

// inNamespace runs f in the namespace of the devices.
func (d *devices) inNamespace(f func() error) error {
	return thread.Do(func() error {
		var here, there unix.Stat_t
		if err := errors.Join(unix.Stat(ownNamespace, &here), unix.Fstat(int(d.namespace.Fd()), &there)); err != nil {
			return fmt.Errorf("comparing network namespaces: %w", err)
		}
		if here.Dev != there.Dev || here.Ino != there.Ino {
			if err := unix.Setns(int(d.namespace.Fd()), unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("entering the network namespace: %w", err)
			}
		}
		return f()
	})
}

func (d *devices) close() error {
	if d.namespace == nil {
		return nil
	}
	var errs []error
	for index := range d.links {
		errs = append(errs, d.detach(index))
	}
	return errors.Join(append(errs, d.namespace.Close())...)
}

// wire returns an address and port in network byte order.
func wire(a netip.AddrPort) (address [4]uint32, port uint16) {
	bytes := a.Addr().As16()
	for i := range address {
		address[i] = binary.NativeEndian.Uint32(bytes[4*i:])
	}
	var p [2]byte
	binary.BigEndian.PutUint16(p[:], a.Port())
	return address, binary.NativeEndian.Uint16(p[:])
}
