package diag

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/clock"
)

// Constants of include/uapi/linux/inet_diag.h and sock_diag.h that golang.org/x/sys/unix lacks.
const (
	msgGetSock  = 18 // TCPDIAG_GETSOCK: the older request, the only one that walks both families at once
	msgByFamily = 20 // SOCK_DIAG_BY_FAMILY

	requestLen   = 60 // struct inet_diag_req
	requestV2Len = 56 // struct inet_diag_req_v2
	messageLen   = 72 // struct inet_diag_msg
	sockIDLen    = 48 // struct inet_diag_sockid
	attrBytecode = 1  // INET_DIAG_REQ_BYTECODE
)

// receiveBuffer holds one message buffer of a dump: the kernel fills at most 32 KiB at a time
// (netlink_dump).
const receiveBuffer = 64 << 10

// answerTimeout guards against a kernel that never answers; a dump is made by the system call
// itself.
const answerTimeout = 5 * time.Second

var errNoDiag = errors.New(
	"this kernel has no inet_diag for TCP: build it with CONFIG_INET_TCP_DIAG or load the module: modprobe tcp_diag",
)

// conn is a netlink socket in one network namespace. It is bound to the namespace in which it was
// opened and may be used from any thread. The system calls are made directly, because a poll of 10
// 000 sockets has to make no garbage.
type conn struct {
	fd  int
	seq uint32
	buf []byte
}

// open opens a socket in the network namespace of the calling thread.
func open() (*conn, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		if errors.Is(err, unix.EPROTONOSUPPORT) {
			return nil, errNoDiag
		}
		return nil, fmt.Errorf("opening sock_diag socket: %w", err)
	}
	timeout := unix.NsecToTimeval(int64(answerTimeout))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("setting up sock_diag socket: %w", err)
	}
	return &conn{fd: fd, buf: make([]byte, receiveBuffer)}, nil
}

func (c *conn) close() { unix.Close(c.fd) }

func (c *conn) send(msg []byte) error {
	c.seq++
	binary.NativeEndian.PutUint32(msg[8:], c.seq)
	for {
		err := unix.Sendto(c.fd, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (c *conn) receive() ([]byte, error) {
	for {
		n, err := unix.Read(c.fd, c.buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return nil, fmt.Errorf("sock_diag gave no answer within %v", answerTimeout)
		case err != nil:
			return nil, err
		}
		return c.buf[:n], nil
	}
}

// dump sends a request and calls f with each answer, lent, and with the time at which the kernel
// made it. whole is false when the kernel says that the list changed under the walk.
func (c *conn) dump(request []byte, f func(timeNs int64, msg []byte) error) (whole bool, err error) {
	if err := c.send(request); err != nil {
		return false, fmt.Errorf("asking sock_diag: %w", err)
	}
	whole = true
	var failed error
	for {
		// The kernel fills the first buffer while it takes the request and each further one at the
		// end of the read before, so what is read next was made just now.
		made := clock.Now()
		b, err := c.receive()
		if err != nil {
			return false, fmt.Errorf("reading from sock_diag: %w", err)
		}
		for len(b) >= unix.SizeofNlMsghdr {
			size := int(binary.NativeEndian.Uint32(b))
			kind := binary.NativeEndian.Uint16(b[4:])
			flags := binary.NativeEndian.Uint16(b[6:])
			if size < unix.SizeofNlMsghdr || size > len(b) {
				return false, fmt.Errorf("sock_diag sent a message of %d bytes in %d", size, len(b))
			}
			body := b[unix.SizeofNlMsghdr:size]
			mine := binary.NativeEndian.Uint32(b[8:]) == c.seq
			b = b[min(len(b), (size+3)&^3):]
			if !mine {
				continue // the rest of a dump that was given up
			}
			whole = whole && flags&unix.NLM_F_DUMP_INTR == 0
			switch kind {
			case unix.NLMSG_DONE:
				return whole, cmp.Or(failed, errorIn(body))
			case unix.NLMSG_ERROR:
				return false, cmp.Or(failed, errorIn(body))
			case msgGetSock, msgByFamily:
				// After an error of the receiver the dump is still read to its end, so that the
				// socket stays usable.
				if failed == nil {
					failed = f(made, body)
				}
			}
		}
	}
}

// get asks for the one socket with these addresses; the answer is nil when there is none. It is
// lent.
func (c *conn) get(request []byte) ([]byte, error) {
	if err := c.send(request); err != nil {
		return nil, fmt.Errorf("asking sock_diag for a socket: %w", err)
	}
	for {
		b, err := c.receive()
		if err != nil {
			return nil, fmt.Errorf("reading from sock_diag: %w", err)
		}
		if len(b) < unix.SizeofNlMsghdr || binary.NativeEndian.Uint32(b[8:]) != c.seq {
			continue
		}
		body := b[unix.SizeofNlMsghdr:]
		if kind := binary.NativeEndian.Uint16(b[4:]); kind != unix.NLMSG_ERROR {
			return body, nil
		}
		if err := errorIn(body); !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ESTALE) {
			return nil, err
		}
		return nil, nil
	}
}

// errorIn reads the error number at the start of an NLMSG_ERROR or NLMSG_DONE message.
func errorIn(body []byte) error {
	if len(body) < 4 {
		return nil
	}
	switch n := -int32(binary.NativeEndian.Uint32(body)); unix.Errno(n) {
	case 0:
		return nil
	case unix.ENOENT, unix.EOPNOTSUPP:
		return fmt.Errorf("%w (%w)", errNoDiag, unix.Errno(n))
	default:
		return fmt.Errorf("sock_diag refused the request: %w", unix.Errno(n))
	}
}
