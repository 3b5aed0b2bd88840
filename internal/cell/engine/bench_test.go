package engine

import (
	"encoding/binary"
	"net"

	"golang.org/x/sys/unix"
)

// probeVariable has the test binary send probes to the address until it is killed. That is a
// process of its own because a single thread of a Go program at a real-time priority waits for
// others that do not have it, and blocks the engine.
const probeVariable = "AIRTIDE_TEST_PROBE"

func sendProbes(address string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	to := &unix.SockaddrInet4{Port: 7, Addr: [4]byte(net.ParseIP(address).To4())}
	for {
		var now unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_REALTIME, &now)
		var data [8]byte
		binary.NativeEndian.PutUint64(data[:], uint64(now.Nano()))
		if err := unix.Sendto(fd, data[:], 0, to); err != nil {
			return err
		}
		pause := unix.NsecToTimespec(1e6)
		_ = unix.Nanosleep(&pause, nil)
	}
}
