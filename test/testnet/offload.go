package testnet

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of the ethtool ioctl (include/uapi/linux/ethtool.h) that switch one offload each.
var offloads = []struct {
	name    string
	command uint32
}{
	{"tx-checksumming", unix.ETHTOOL_STXCSUM},
	{"tcp-segmentation-offload", unix.ETHTOOL_STSO},
	{"generic-segmentation-offload", unix.ETHTOOL_SGSO},
	{"generic-receive-offload", unix.ETHTOOL_SGRO},
}

// disableOffloads switches off what joins segments or leaves checksums to the device. To be run in
// the namespace of the device.
func disableOffloads(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening a socket for ethtool: %w", err)
	}
	defer unix.Close(fd)
	for _, o := range offloads {
		value := struct{ command, data uint32 }{command: o.command}
		request := struct {
			name [unix.IFNAMSIZ]byte
			data unsafe.Pointer
			_    [16]byte
		}{data: unsafe.Pointer(&value)}
		copy(request.name[:unix.IFNAMSIZ-1], name)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
		if errno != 0 {
			return fmt.Errorf("switching off %s of %s: %w", o.name, name, errno)
		}
	}
	return nil
}
