package engine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/thread"
)

// openTUN creates a TUN device with virtio headers. The device is removed when its descriptor is
// closed.
func openTUN(name string) (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return -1, fmt.Errorf(
			"opening /dev/net/tun: %w: load the kernel's module with `modprobe tun`, or give the container "+
				"--device /dev/net/tun",
			err,
		)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return -1, fmt.Errorf("opening /dev/net/tun: %w: run as root, and give a container --device /dev/net/tun", err)
	case err != nil:
		return -1, fmt.Errorf("opening /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("making TUN device %s: %w", name, err)
	}
	return fd, nil
}

// setOffloads leaves checksums to the receiver, and segmentation to the engine if it reads
// offload-sized packets.
func setOffloads(fd int, supers bool) error {
	offloads := unix.TUN_F_CSUM
	if supers {
		offloads |= unix.TUN_F_TSO4 | unix.TUN_F_TSO6
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, offloads); err != nil {
		return fmt.Errorf("setting offloads: %w", err)
	}
	// The world bounds the written packets, so the socket buffer has no limit.
	if err := unix.IoctlSetPointerInt(fd, unix.TUNSETSNDBUF, math.MaxInt32); err != nil {
		return fmt.Errorf("setting the buffer for writing: %w", err)
	}
	return nil
}

// OpenMacvtap opens the character device of a macvtap with the given name and interface index. Call
// it in the macvtap's network namespace. The device number is read from that namespace's sysfs,
// since names in /dev are shared by all namespaces.
func OpenMacvtap(name string, index int) (fd int, err error) {
	file, err := openSysfs(fmt.Sprintf("class/net/%s/tap%d/dev", name, index), unix.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		// Class devices of network interfaces also hang below the class of macvtap.
		file, err = openSysfs(fmt.Sprintf("class/macvtap/tap%d/dev", index), unix.O_RDONLY)
	}
	if err != nil {
		return -1, fmt.Errorf("finding the device number of %s: %w", name, err)
	}
	defer unix.Close(file)
	var text [32]byte
	n, err := unix.Read(file, text[:])
	if err != nil {
		return -1, fmt.Errorf("reading the device number of %s: %w", name, err)
	}
	major, minor, _ := strings.Cut(strings.TrimSpace(string(text[:n])), ":")
	a, errA := strconv.ParseUint(major, 10, 32)
	b, errB := strconv.ParseUint(minor, 10, 32)
	if errA != nil || errB != nil {
		return -1, fmt.Errorf("device number %q of %s is not understood", text[:n], name)
	}
	nodes, err := mountDetached("tmpfs")
	if err != nil {
		return -1, err
	}
	defer unix.Close(nodes)
	if err := unix.Mknodat(nodes, "tap", unix.S_IFCHR|0o600, int(unix.Mkdev(uint32(a), uint32(b)))); err != nil {
		return -1, fmt.Errorf("making a node for %s: %w", name, err)
	}
	fd, err = unix.Openat(nodes, "tap", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening %s: %w", name, err)
	}
	return fd, nil
}

// openSysfs opens a file of the sysfs of the thread's network namespace; that in /sys may be
// another's.
func openSysfs(path string, flags int) (int, error) {
	sysfs, err := mountDetached("sysfs")
	if err != nil {
		return -1, err
	}
	defer unix.Close(sysfs)
	fd, err := unix.Openat(sysfs, path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening %s in sysfs: %w", path, err)
	}
	return fd, nil
}

// mountDetached mounts a file system without a path and returns its descriptor. The mount ends with
// its descriptors. It needs Linux 5.2.
func mountDetached(kind string) (int, error) {
	context, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("opening %s: %w", kind, err)
	}
	defer unix.Close(context)
	if err := unix.FsconfigCreate(context); err != nil {
		return -1, fmt.Errorf("making %s: %w", kind, err)
	}
	fd, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("mounting %s: %w", kind, err)
	}
	return fd, nil
}

// openPacketSocket opens a socket on an interface that exists, for all that comes in on it.
func openPacketSocket(name string) (fd int, err error) {
	index, err := interfaceIndex(name)
	if err != nil {
		return -1, err
	}
	fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening a packet socket (root is needed): %w", err)
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
			fd = -1
		}
	}()
	for _, o := range []struct{ option, value int }{
		{unix.PACKET_VNET_HDR, 1},
		{unix.PACKET_IGNORE_OUTGOING, 1},
		{unix.PACKET_QDISC_BYPASS, 1},
	} {
		if err = unix.SetsockoptInt(fd, unix.SOL_PACKET, o.option, o.value); err != nil {
			return fd, fmt.Errorf("setting option %d of a packet socket: %w", o.option, err)
		}
	}
	for _, option := range []int{unix.SO_RCVBUFFORCE, unix.SO_SNDBUFFORCE} {
		if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 64<<20); err != nil {
			return fd, fmt.Errorf("setting the buffers of a packet socket: %w", err)
		}
	}
	// The engine's address differs from the interface's address, so the interface has to be
	// promiscuous.
	promiscuous := &unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}
	if err = unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, promiscuous); err != nil {
		return fd, fmt.Errorf("listening to all on %s: %w", name, err)
	}
	err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: index})
	if err != nil {
		return fd, fmt.Errorf("binding to %s: %w", name, err)
	}
	return fd, nil
}

func networkOrder(v uint16) uint16 {
	b := [2]byte{byte(v >> 8), byte(v)}
	return *(*uint16)(unsafe.Pointer(&b))
}

func interfaceIndex(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("looking for interface %s: %w", name, err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq(name)
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, request)
	}
	if err != nil {
		return 0, fmt.Errorf("there is no interface %q in the namespace: %w", name, err)
	}
	return int(request.Uint32()), nil
}

// attachOutside opens a packet socket on the interface.
func (n *network) attachOutside(p *port) error {
	err := thread.Do(func() (err error) {
		if p.Namespace != "" {
			ns, err := unix.Open(p.Namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err == nil {
				defer unix.Close(ns)
				err = unix.Setns(ns, unix.CLONE_NEWNET)
			}
			if err != nil {
				return fmt.Errorf("entering namespace %s: %w", p.Namespace, err)
			}
		}
		p.fd, err = openPacketSocket(p.Interface)
		return err
	})
	if err != nil {
		return err
	}
	n.undone(func() { _ = unix.Close(p.fd) })
	p.outside = newOutside(p.router)
	p.ether = etherBytes
	p.super = true
	return nil
}
