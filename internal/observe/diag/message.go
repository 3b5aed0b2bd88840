package diag

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Attributes of an answer (include/uapi/linux/inet_diag.h).
const (
	attrInfo      = 2
	attrVegasInfo = 3
	attrCong      = 4
	attrSKMemInfo = 7
	attrBBRInfo   = 16
	attrCgroupID  = 21 // Linux 5.8, with CONFIG_SOCK_CGROUP_DATA
)

// answer is one socket as the kernel describes it. The slices point into the receive buffer.
type answer struct {
	family, state uint8
	id            []byte // struct inet_diag_sockid
	cookie        uint64
	receiveQueue  uint32
	sendQueue     uint32
	inode         uint32
	info          []byte // struct tcp_info, as long as this kernel's; nil if the socket is not a full one
	memory        []byte // SK_MEMINFO_VARS
	congestion    []byte // name, without its NUL
	bbr           []byte // struct tcp_bbr_info
	cgroup        uint64
	hasCgroup     bool
}

// Offsets in struct inet_diag_msg.
const (
	offID           = 4
	offSourcePort   = 0 // this and the following ones are offsets in the ID
	offRemotePort   = 2
	offSource       = 4
	offRemote       = 20
	offCookie       = 40
	offReceiveQueue = 56
	offSendQueue    = 60
	offInode        = 68
)

// parse reads an answer into a; it returns false for one that is cut off.
func (a *answer) parse(b []byte) bool {
	if len(b) < messageLen {
		return false
	}
	id := b[offID : offID+sockIDLen]
	*a = answer{
		family: b[0], state: b[1], id: id,
		cookie:       binary.NativeEndian.Uint64(id[offCookie:]),
		receiveQueue: binary.NativeEndian.Uint32(b[offReceiveQueue:]),
		sendQueue:    binary.NativeEndian.Uint32(b[offSendQueue:]),
		inode:        binary.NativeEndian.Uint32(b[offInode:]),
	}
	for b = b[messageLen:]; len(b) >= unix.SizeofNlAttr; {
		size := int(binary.NativeEndian.Uint16(b))
		kind := binary.NativeEndian.Uint16(b[2:])
		if size < unix.SizeofNlAttr || size > len(b) {
			return false
		}
		value := b[unix.SizeofNlAttr:size]
		switch kind {
		case attrInfo:
			a.info = value
		case attrSKMemInfo:
			a.memory = value
		case attrCong:
			a.congestion, _, _ = bytes.Cut(value, []byte{0})
		case attrBBRInfo:
			a.bbr = value
		case attrCgroupID:
			if len(value) >= 8 {
				a.cgroup = binary.NativeEndian.Uint64(value)
				a.hasCgroup = true
			}
		}
		b = b[min(len(b), (size+3)&^3):]
	}
	return true
}

// endpoints are the addresses and ports in the socket's own family.
func (a *answer) endpoints() (local, remote netip.AddrPort) {
	at := func(address, port int) netip.AddrPort {
		var ip netip.Addr
		if a.family == unix.AF_INET {
			ip = netip.AddrFrom4([4]byte(a.id[address:]))
		} else {
			ip = netip.AddrFrom16([16]byte(a.id[address:]))
		}
		return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(a.id[port:]))
	}
	return at(offSource, offSourcePort), at(offRemote, offRemotePort)
}
