package testnet

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Path is one direction of the veth. Its methods say what happens to segments from now on; "data"
// is a segment with payload, "ACK" one without payload and without SYN, FIN or RST. A new order
// replaces the last one of its kind.
type Path struct {
	tb       testing.TB
	sender   *Host
	receiver *Host
	lost     faults // at the receiver's ingress: nobody is told
	refused  faults // at the sender's egress: TCP sees the device refuse the segment
	segments bool
	holder   *holder
}

// Counts says what has passed the path.
type Counts struct {
	Data, Acks              uint64 // segments that came to the far end, dropped and held ones included
	Dropped, Marked, Held   uint64
	HoldFailed, RefusedData uint64
}

func newPath(tb testing.TB, sender, receiver *Host, segments bool) *Path {
	tb.Helper()
	p := &Path{tb: tb, sender: sender, receiver: receiver, segments: segments}
	var err error
	p.lost, err = attachFaults(tb, receiver, true)
	if err == nil {
		p.refused, err = attachFaults(tb, sender, false)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// DropData loses n data segments after having spared skip.
func (p *Path) DropData(skip, n int) {
	p.tb.Helper()
	p.order(p.lost, pathSlotSLOT_DROP_DATA_SKIP, pathSlotSLOT_DROP_DATA, skip, n)
}

// DropEvery loses every kth data segment; 0 ends it.
func (p *Path) DropEvery(k int) { p.tb.Helper(); p.set(p.lost, pathSlotSLOT_DROP_EVERY, uint64(k)) }

// Blackout loses every TCP segment while it is on.
func (p *Path) Blackout(on bool) {
	p.tb.Helper()
	n := uint64(0)
	if on {
		n = 1
	}
	p.set(p.lost, pathSlotSLOT_BLACKOUT, n)
}

// Vanish makes lost segments vanish without a drop that the kernel knows of, as if they were lost
// beyond this host: they leave by a device of which nobody reads.
func (p *Path) Vanish() {
	p.tb.Helper()
	index, err := p.receiver.nowhere(p.tb)
	if err != nil {
		p.tb.Fatal(err)
	}
	p.set(p.lost, pathSlotSLOT_VANISH, uint64(index))
}

// nowhere makes a TAP device that nobody reads, and returns its number.
func (h *Host) nowhere(tb testing.TB) (index int, err error) {
	const name = "nowhere"
	err = h.Do(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		tb.Cleanup(func() { _ = unix.Close(fd) })
		request, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		return unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	})
	if err != nil {
		return 0, fmt.Errorf("making a TAP device: %w", err)
	}
	tap, err := h.links.LinkByName(name)
	if err != nil {
		return 0, fmt.Errorf("finding %s: %w", name, err)
	}
	return tap.Attrs().Index, h.links.LinkSetUp(tap)
}

// MarkCE marks n data segments of an ECN-capable connection as having met congestion, after having
// spared skip.
func (p *Path) MarkCE(skip, n int) {
	p.tb.Helper()
	p.order(p.lost, pathSlotSLOT_MARK_SKIP, pathSlotSLOT_MARK, skip, n)
}

// RefuseData makes the sender's own device refuse n data segments after having spared skip: the
// transmission returns NET_XMIT_DROP, which TCP takes for local congestion.
func (p *Path) RefuseData(skip, n int) {
	p.tb.Helper()
	p.order(p.refused, pathSlotSLOT_DROP_DATA_SKIP, pathSlotSLOT_DROP_DATA, skip, n)
}

// Delay holds every segment back for so long. It is done in user space: meant for thousands of
// segments a second, not for millions.
func (p *Path) Delay(d time.Duration) {
	p.tb.Helper()
	p.hold()
	p.set(p.lost, pathSlotSLOT_DELAY_NS, uint64(d))
}

// HoldData holds n data segments back, after having spared skip, for so much longer than the rest:
// they arrive late and out of order.
func (p *Path) HoldData(skip, n int, d time.Duration) {
	p.tb.Helper()
	p.hold()
	p.set(p.lost, pathSlotSLOT_HOLD_NS, uint64(d))
	p.order(p.lost, pathSlotSLOT_HOLD_SKIP, pathSlotSLOT_HOLD, skip, n)
}

// Counts reads the counts.
func (p *Path) Counts() Counts {
	p.tb.Helper()
	return Counts{
		Data: p.get(p.lost, pathSlotSLOT_SEEN_DATA), Acks: p.get(p.lost, pathSlotSLOT_SEEN_ACKS),
		Dropped: p.get(p.lost, pathSlotSLOT_DROPPED), Marked: p.get(p.lost, pathSlotSLOT_MARKED),
		Held: p.get(p.lost, pathSlotSLOT_HELD), HoldFailed: p.get(p.lost, pathSlotSLOT_HOLD_FAILED),
		RefusedData: p.get(p.refused, pathSlotSLOT_DROPPED),
	}
}

// waiting is the number of segments that are held back now.
func (p *Path) waiting() int {
	p.tb.Helper()
	if p.holder == nil {
		return 0
	}
	passed := p.holder.passed.Load() // first: a segment may be held meanwhile
	return int(p.get(p.lost, pathSlotSLOT_HELD) - passed)
}

func (p *Path) hold() {
	p.tb.Helper()
	if p.holder != nil {
		return
	}
	if !p.segments {
		p.tb.Fatal("holding segments back needs Options.Segments: the checksum of an offloaded one is not complete")
	}
	var err error
	p.holder, err = newHolder(p.sender, p.lost.held)
	if err != nil {
		p.tb.Fatal(err)
	}
	p.tb.Cleanup(p.holder.close)
}

func (p *Path) order(f faults, skipSlot, countSlot pathSlot, skip, n int) {
	p.tb.Helper()
	p.set(f, countSlot, 0)
	p.set(f, skipSlot, uint64(skip))
	p.set(f, countSlot, uint64(n))
}

func (p *Path) set(f faults, s pathSlot, n uint64) {
	p.tb.Helper()
	if err := f.slots.Put(uint32(s), n); err != nil {
		p.tb.Fatalf("steering the path: %v", err)
	}
}

func (p *Path) get(f faults, s pathSlot) (n uint64) {
	p.tb.Helper()
	if err := f.slots.Lookup(uint32(s), &n); err != nil {
		p.tb.Fatalf("reading the path's counts: %v", err)
	}
	return n
}

// faults is the program at one hook of one device.
type faults struct {
	slots, held *ebpf.Map
}

func attachFaults(tb testing.TB, h *Host, ingress bool) (faults, error) {
	_ = rlimit.RemoveMemlock() // maps count to it before Linux 5.11
	var objects pathObjects
	if err := loadPathObjects(&objects, nil); err != nil {
		return faults{}, fmt.Errorf("loading the path's program: %w", err)
	}
	tb.Cleanup(func() { _ = objects.Close() })
	err := h.Do(func() error {
		nic, err := net.InterfaceByName(device)
		if err != nil {
			return err
		}
		attach := ebpf.AttachTCXEgress
		if ingress {
			attach = ebpf.AttachTCXIngress
		}
		l, err := link.AttachTCX(link.TCXOptions{Interface: nic.Index, Program: objects.Segment, Attach: attach})
		if errors.Is(err, ebpf.ErrNotSupported) {
			return attachClassifier(h, nic.Index, objects.Segment.FD(), ingress)
		}
		if err == nil {
			tb.Cleanup(func() { _ = l.Close() })
		}
		return err
	})
	if err != nil {
		return faults{}, fmt.Errorf("attaching the path's program to %s of %s: %w", device, h.Name, err)
	}
	return faults{slots: objects.Slots, held: objects.Held}, nil
}

// attachClassifier attaches by clsact, for kernels before 6.6. It goes with the device.
func attachClassifier(h *Host, index, program int, ingress bool) error {
	clsact := &netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT,
	}}
	if err := h.links.QdiscAdd(clsact); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("adding clsact: %w", err)
	}
	parent := uint32(netlink.HANDLE_MIN_EGRESS)
	if ingress {
		parent = netlink.HANDLE_MIN_INGRESS
	}
	err := h.links.FilterAdd(&netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: index, Parent: parent, Handle: 1, Protocol: unix.ETH_P_ALL,
			Priority: 1,
		},
		Fd:           program,
		Name:         "airtide-test",
		DirectAction: true,
	})
	if err != nil {
		return fmt.Errorf("adding bpf classifier: %w", err)
	}
	return nil
}
