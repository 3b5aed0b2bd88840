package engine

import (
	"bytes"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// lossCounter counts the packets that the kernel lost between a host and the engine.
type lossCounter struct {
	// files are open sysfs counters of the devices. A netlink request costs fifty times as much. An
	// Outside port has no files; its socket counts.
	files  []int
	socket uint64 // packets lost by the socket's count so far
	begin  uint64 // packets lost before Begin
}

// countLosses adds a counter of a device, such as rx_dropped. Call it in the device's namespace.
func (n *network) countLosses(p *port, device, counter string) error {
	file, err := openSysfs(fmt.Sprintf("class/net/%s/statistics/%s", device, counter), unix.O_RDONLY)
	if err != nil {
		return fmt.Errorf("counting what is lost: %w", err)
	}
	n.undone(func() { _ = unix.Close(file) })
	p.lost.files = append(p.lost.files, file)
	return nil
}

func (p *port) lostSinceBegin() uint64 {
	lost := p.kernelLost()
	return lost - min(p.lost.begin, lost)
}

// kernelLost counts from when the port was made.
func (p *port) kernelLost() (lost uint64) {
	if p.Kind == Outside {
		// Reading the statistics resets them.
		if s, err := unix.GetsockoptTpacketStats(p.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			p.lost.socket += uint64(s.Drops)
		}
		return p.lost.socket
	}
	for _, file := range p.lost.files {
		var text [32]byte
		n, err := unix.Pread(file, text[:], 0)
		if err != nil {
			return 0 // the device is gone, and the port fails
		}
		count, _ := strconv.ParseUint(string(bytes.TrimSpace(text[:n])), 10, 64)
		lost += count
	}
	return lost
}
