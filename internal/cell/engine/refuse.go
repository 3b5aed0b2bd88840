package engine

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// credit is the memory that the engine shares with the program at a station's device
// (bpf/cell/port.bpf.c).
type credit struct {
	// taken counts the packets read from the device. The program counts the packets that entered
	// it.
	taken   uint64
	allowed uint64
	// refusedBefore were refused before Begin.
	refusedBefore uint64
	settled       struct{ entered, taken uint64 } // as the last tick saw them
	still         int                             // for so many ticks they have been so

	shared  *portCredit
	memory  []byte
	objects portObjects
	link    link.Link
}

// attachCredit loads the program and attaches it to the egress of a device. Call it in the device's
// namespace.
func attachCredit(links *netlink.Handle, index int) (*credit, error) {
	c := &credit{}
	_ = rlimit.RemoveMemlock() // maps count to it before Linux 5.11
	if err := loadPortObjects(&c.objects, nil); err != nil {
		return nil, fmt.Errorf("loading the program that refuses packets: %w", err)
	}
	memory, err := unix.Mmap(c.objects.Credits.FD(), 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED)
	if err != nil {
		c.close()
		return nil, fmt.Errorf("mapping what it shares: %w", err)
	}
	c.shared = (*portCredit)(unsafe.Pointer(&memory[0]))
	c.memory = memory
	c.link, err = link.AttachTCX(
		link.TCXOptions{Interface: index, Program: c.objects.Admit, Attach: ebpf.AttachTCXEgress},
	)
	if errors.Is(err, ebpf.ErrNotSupported) {
		// Before kernel 6.6. It goes with the device.
		err = attachClassifier(links, index, c.objects.Admit.FD())
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("attaching the program that refuses packets: %w", err)
	}
	return c, nil
}

func attachClassifier(links *netlink.Handle, index, program int) error {
	clsact := &netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT,
	}}
	if err := links.QdiscAdd(clsact); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("adding clsact: %w", err)
	}
	return links.FilterAdd(&netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: index, Parent: netlink.HANDLE_MIN_EGRESS, Handle: 1, Protocol: unix.ETH_P_ALL, Priority: 1,
		},
		Fd: program, Name: "airtide-cell", DirectAction: true,
	})
}

func (c *credit) close() {
	if c.link != nil {
		_ = c.link.Close()
	}
	if c.memory != nil {
		_ = unix.Munmap(c.memory)
	}
	_ = c.objects.Close()
}

// allow sets the number of packets that may have entered.
func (c *credit) allow(n uint64) {
	if n != c.allowed {
		c.allowed = n
		atomic.StoreUint64(&c.shared.Allowed, n)
	}
}

func (c *credit) refused() uint64 { return atomic.LoadUint64(&c.shared.Refused) }

// settleTicks is longer than a packet needs from the device to the engine, even on a busy or
// emulated machine.
const settleTicks = 20

// settle gives credit back for packets that entered the device and never came: after settleTicks
// without one coming from a device that is being read, they are lost. It returns how many; were
// they not given back, a station that loses as many as its queue takes would be refused for ever.
func (c *credit) settle() (lost uint64) {
	entered := atomic.LoadUint64(&c.shared.Entered)
	now := struct{ entered, taken uint64 }{entered, c.taken}
	if c.settled != now {
		c.settled = now
		c.still = 0
		return 0
	}
	c.still++
	if c.still < settleTicks || entered == c.taken {
		return 0
	}
	if entered > c.taken {
		lost = entered - c.taken
	}
	c.taken = entered
	return lost
}
