//go:build kernel

package share

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/share/link"
	"airtide/test/testnet"
)

// crossing is a datagram between terminals that crossed an interface.
type crossing struct {
	from, to netip.Addr
	bytes    int    // bytes of UDP payload
	session  uint64 // session in the clear part
}

// overheard collects the datagrams on an interface.
type overheard struct {
	mu  sync.Mutex
	all []crossing
}

func (o *overheard) take() (all []crossing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all = o.all
	o.all = nil
	return all
}

// overhear collects the datagrams on a host's interface by a packet socket.
func overhear(t *testing.T, h *testnet.Host) *overheard {
	t.Helper()
	var fd int
	err := h.Do(func() error {
		device, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		all := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL))
		// Packets come without the header of the link.
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(all))
		if err != nil {
			return err
		}
		patience := unix.NsecToTimeval(int64(50 * time.Millisecond))
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: device.Index})
	})
	if err != nil {
		t.Fatal(err)
	}
	o := &overheard{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for packet := make([]byte, 1<<16); t.Context().Err() == nil; {
			n, _, err := unix.Recvfrom(fd, packet, 0)
			if err != nil {
				continue
			}
			if c, ok := crossingOf(packet[:n]); ok {
				o.mu.Lock()
				o.all = append(o.all, c)
				o.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		<-ended
		_ = unix.Close(fd)
	})
	return o
}

// crossingOf reads a packet of IPv4 or IPv6 without options.
func crossingOf(packet []byte) (c crossing, ok bool) {
	const udpHeader = 8
	header := 0
	switch {
	case len(packet) >= 20 && packet[0] == 0x45 && packet[9] == unix.IPPROTO_UDP:
		header = 20
		c.from = netip.AddrFrom4([4]byte(packet[12:]))
		c.to = netip.AddrFrom4([4]byte(packet[16:]))
	case len(packet) >= 40 && packet[0]>>4 == 6 && packet[6] == unix.IPPROTO_UDP:
		header = 40
		c.from = netip.AddrFrom16([16]byte(packet[8:]))
		c.to = netip.AddrFrom16([16]byte(packet[24:]))
	default:
		return c, false
	}
	rest := packet[header:]
	if len(rest) < udpHeader+14 || binary.BigEndian.Uint16(rest[2:]) != link.Port {
		return c, false
	}
	c.bytes = int(binary.BigEndian.Uint16(rest[4:])) - udpHeader
	c.session = binary.LittleEndian.Uint64(rest[udpHeader+6:])
	return c, true
}
