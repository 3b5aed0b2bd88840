package diag

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
)

// flowStates are the states in which a socket carries a flow. LISTEN has no peer. TIME_WAIT has no
// socket any more, and a server may hold hundreds of thousands of them.
const flowStates = 1<<tcp.StateEstablished | 1<<tcp.StateSynSent | 1<<tcp.StateSynRecv | 1<<tcp.StateFinWait1 |
	1<<tcp.StateFinWait2 | 1<<tcp.StateCloseWait | 1<<tcp.StateLastAck | 1<<tcp.StateClosing

// extensions asks for tcp_info, the congestion control's name and private state, and the socket's
// memory. The private state of BBR and DCTCP is asked for by the name of Vegas. INET_DIAG_CGROUP_ID
// comes unasked (Linux 5.8).
const extensions = 1<<(attrInfo-1) | 1<<(attrVegasInfo-1) | 1<<(attrCong-1) | 1<<(attrSKMemInfo-1)

// dumpRequest asks for all sockets with a flow, IPv4 and IPv6, that the filter's bytecode lets
// through.
func dumpRequest(bytecode []byte) []byte {
	n := unix.SizeofNlMsghdr + requestLen
	if len(bytecode) > 0 {
		n += unix.SizeofNlAttr + len(bytecode)
	}
	b := make([]byte, n)
	header(b, msgGetSock, unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	// struct inet_diag_req: family, src_len, dst_len, ext, sockid, states, dbs. The family is not
	// looked at.
	req := b[unix.SizeofNlMsghdr:]
	req[3] = extensions
	binary.NativeEndian.PutUint32(req[4+sockIDLen:], flowStates)
	if len(bytecode) > 0 {
		attr := req[requestLen:]
		binary.NativeEndian.PutUint16(attr, uint16(unix.SizeofNlAttr+len(bytecode)))
		binary.NativeEndian.PutUint16(attr[2:], attrBytecode)
		copy(attr[unix.SizeofNlAttr:], bytecode)
	}
	return b
}

// getRequest asks for the socket with these addresses and any cookie, because a TIME_WAIT entry
// that replaced the socket has another cookie.
func getRequest(family uint8, id *[sockIDLen]byte) []byte {
	b := make([]byte, unix.SizeofNlMsghdr+requestV2Len)
	header(b, msgByFamily, unix.NLM_F_REQUEST)
	// struct inet_diag_req_v2: family, protocol, ext, pad, states, sockid.
	req := b[unix.SizeofNlMsghdr:]
	req[0] = family
	req[1] = unix.IPPROTO_TCP
	req[2] = extensions
	copy(req[8:], id[:])
	for i := range 8 {
		req[8+sockIDLen-8+i] = 0xff // INET_DIAG_NOCOOKIE
	}
	return b
}

func header(b []byte, kind, flags uint16) {
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], kind)
	binary.NativeEndian.PutUint16(b[6:], flags)
}

// Operations of the kernel's socket filter (net/ipv4/inet_diag.c, inet_diag_bc_run).
const (
	opJump            = 1 // INET_DIAG_BC_JMP
	opLocalCondition  = 7 // INET_DIAG_BC_S_COND
	opRemoteCondition = 8 // INET_DIAG_BC_D_COND

	opLen = 4 // struct inet_diag_bc_op
)

// condition is the argument of a condition, struct inet_diag_hostcond: family, prefix length, port,
// address.
type condition []byte

func portCondition(port uint16) condition {
	c := make(condition, 8)
	binary.NativeEndian.PutUint32(c[4:], uint32(port))
	return c
}

func prefixCondition(p netip.Prefix) condition {
	family := unix.AF_INET6
	if p.Addr().Is4() {
		family = unix.AF_INET // matches v4-mapped addresses of IPv6 sockets too
	}
	c := make(condition, 8)
	c[1] = uint8(p.Bits())
	c[0] = uint8(family)
	binary.NativeEndian.PutUint32(c[4:], 0xffffffff) // any port
	return append(c, p.Addr().AsSlice()...)
}

// bytecode makes the kernel drop sockets that the filter's ports and prefixes cannot match, so that
// they are neither copied nor looked at. It may let through more than the filter: Filter.Match
// decides. It is empty when neither ports nor prefixes are given.
//
// The kernel's program can only jump forward; a socket passes when the jump ends exactly at the
// end, and is dropped when it ends 4 bytes behind it. Each list becomes one conditional operation
// per entry and side: when it holds, the jump that follows it leads behind the list; when it does
// not, the next operation is tried, and behind the last comes a jump out of the program.
func bytecode(f *filter.Filter) []byte {
	var lists [][]condition
	if len(f.Ports) > 0 {
		var list []condition
		for _, p := range f.Ports {
			list = append(list, portCondition(p))
		}
		lists = append(lists, list)
	}
	if len(f.Prefixes) > 0 {
		var list []condition
		for _, p := range f.Prefixes {
			list = append(list, prefixCondition(p))
		}
		lists = append(lists, list)
	}
	var program []byte
	for i := len(lists) - 1; i >= 0; i-- { // backwards, because a jump needs the distance to the end
		program = append(anyOf(lists[i], len(program)), program...)
	}
	return program
}

// anyOf is the part of a program that goes on behind its own end when one of the conditions holds
// for either side. behind is the length of the program's part behind it.
func anyOf(list []condition, behind int) []byte {
	length := opLen // length of the jump out
	for _, c := range list {
		length += 2 * (opLen + len(c) + opLen)
	}
	part := make([]byte, 0, length)
	op := func(code uint8, yes, no int) {
		part = append(part, code, uint8(yes))
		part = binary.NativeEndian.AppendUint16(part, uint16(no))
	}
	for _, c := range list {
		for _, code := range []uint8{opLocalCondition, opRemoteCondition} {
			size := opLen + len(c)
			op(code, size, size+opLen)
			part = append(part, c...)
			op(opJump, opLen, length-len(part))
		}
	}
	op(opJump, opLen, opLen+behind+4)
	return part
}
