package engine

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	etherBytes = 14
	etherIP4   = 0x0800
	etherIP6   = 0x86dd
	etherARP   = 0x0806
)

type mac [6]byte

// port is the engine's end of a Port.
type port struct {
	Port
	index int
	fd    int
	ether int  // bytes of Ethernet header in front of the IP packet: 14, or 0 of a TUN device
	super bool // a read may give a super-packet
	// Addresses of the frames written: of the host, and of the engine as its router.
	host, router mac

	// waiting holds the rest of an offload-sized packet for which the station's queue had no room.
	waiting []*slot
	held    bool // not read until the station's queue has room
	gather  gather
	credit  *credit
	outside *outside
	lost    lossCounter

	counts PortCounts
}

// PortCounts counts the packets of a port.
type PortCounts struct {
	// PacketsIn and BytesIn entered the world. PacketsOut and BytesOut left it. Bytes are those of
	// IP packets.
	PacketsIn  uint64 `json:"packets_in"`
	BytesIn    uint64 `json:"bytes_in"`
	PacketsOut uint64 `json:"packets_out"`
	BytesOut   uint64 `json:"bytes_out"`
	// Unroutable packets have a destination that no port has, or their own port; they do not enter.
	Unroutable uint64 `json:"unroutable"`
	// Malformed packets are no IP packets, cut off, or larger than the MTU.
	Malformed uint64 `json:"malformed"`
	// Unresolved packets found no answer to ARP or neighbour discovery outside.
	Unresolved uint64 `json:"unresolved"`
	// WriteFailed packets were refused by the device.
	WriteFailed uint64 `json:"write_failed"`
	// Holds counts how often the port was not read because the station's queue was full.
	Holds uint64 `json:"holds"`
	// Refused packets were refused to the sender by its device (Port.Refuse).
	Refused uint64 `json:"refused"`
	// KernelDropped packets were lost between the host and the engine: the engine's reading could
	// not keep up.
	KernelDropped uint64 `json:"kernel_dropped"`
}

// read reads one packet behind its virtio header into the slot's headroom. n counts from the virtio
// header on.
func (p *port) read(s *slot) (n int, errno syscall.Errno) {
	at := headroom - p.ether - virtioBytes
	r, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(p.fd), uintptr(unsafe.Pointer(&s.memory[at])),
		uintptr(slotBytes-at))
	return int(r), errno
}

// readSuper reads a packet that may be larger than a slot: its beginning into the slot, as read
// does, and the rest into the buffer, behind the space of a slot.
func (p *port) readSuper(s *slot, buffer []byte) (n int, errno syscall.Errno) {
	at := headroom - p.ether - virtioBytes
	iov := [2]unix.Iovec{{Base: &s.memory[at]}, {Base: &buffer[slotBytes]}}
	iov[0].SetLen(slotBytes - at)
	iov[1].SetLen(len(buffer) - slotBytes)
	r, _, errno := unix.RawSyscall(unix.SYS_READV, uintptr(p.fd), uintptr(unsafe.Pointer(&iov)), 2)
	return int(r), errno
}

// write writes the IP packet in a slot, to which the frame's headers are added in its headroom.
func (p *port) write(s *slot, v virtio, to mac) syscall.Errno {
	at := p.frame(s, v, to)
	_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(p.fd), uintptr(unsafe.Pointer(&s.memory[at])),
		uintptr(headroom-at+s.packet.Length))
	return errno
}

// frame writes the headers in front of the IP packet and returns the offset of the first one.
func (p *port) frame(s *slot, v virtio, to mac) int {
	at := headroom
	if p.ether != 0 {
		at -= etherBytes
		copy(s.memory[at:], to[:])
		copy(s.memory[at+6:], p.router[:])
		kind := uint16(etherIP4)
		if s.header.version == 6 {
			kind = etherIP6
		}
		s.memory[at+12] = byte(kind >> 8)
		s.memory[at+13] = byte(kind)
	}
	at -= virtioBytes
	v.write(s.memory[at:])
	return at
}

// virtio is the header of a packet that goes as it is.
func (p *port) virtio(s *slot) virtio {
	if s.checksumStart == 0 {
		return virtio{}
	}
	return virtio{
		flags:         unix.VIRTIO_NET_HDR_F_NEEDS_CSUM,
		checksumStart: uint16(p.ether) + s.checksumStart, checksum: s.checksumOffset,
	}
}
