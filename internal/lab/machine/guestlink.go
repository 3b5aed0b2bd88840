package machine

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"airtide/internal/cell/engine"
	"airtide/internal/sys/file"
	"airtide/internal/vm"
)

const (
	// cellDevice is the interface of a machine in the cell; a guest's macvtap is on it.
	cellDevice  = "eth0"
	macvtapName = "guest0"
	// macvtapPackets is the length of the guest's queue in packets. The cell's own devices have the
	// same length.
	macvtapPackets = 8192
)

// connectGuest adds a macvtap to the device of a namespace and returns the network settings of a
// guest that replaces the namespace. The macvtap takes all incoming packets; outgoing packets wait
// in the device's queue. It ends with the namespace.
func connectGuest(namespace string) (n *vm.Net, err error) {
	err = In(namespace, func() error {
		links, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return fmt.Errorf("opening netlink: %w", err)
		}
		defer links.Close()
		link, err := links.LinkByName(cellDevice)
		if err != nil {
			return fmt.Errorf("finding %s: %w", cellDevice, err)
		}
		n, err = readNet(links, link)
		if err != nil {
			return err
		}
		n.Tap, err = addMacvtap(links, link)
		return err
	})
	return n, err
}

func addMacvtap(links *netlink.Handle, link netlink.Link) (*os.File, error) {
	attrs := netlink.NewLinkAttrs()
	attrs.ParentIndex = link.Attrs().Index
	attrs.Name = macvtapName
	attrs.TxQLen = macvtapPackets
	macvlan := netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_PASSTHRU}
	if err := links.LinkAdd(&netlink.Macvtap{Macvlan: macvlan}); err != nil {
		return nil, fmt.Errorf("making a macvtap (the kernel needs CONFIG_MACVTAP): %w", err)
	}
	tap, err := links.LinkByName(macvtapName)
	if err != nil {
		return nil, fmt.Errorf("finding the macvtap: %w", err)
	}
	// The namespace itself must be silent.
	for _, device := range []string{macvtapName, cellDevice} {
		err := file.Set("/proc/sys/net/ipv6/conf/"+device+"/disable_ipv6", "1")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("silencing %s: %w", device, err)
		}
	}
	if err := links.LinkSetUp(tap); err != nil {
		return nil, fmt.Errorf("setting the macvtap up: %w", err)
	}
	fd, err := engine.OpenMacvtap(macvtapName, tap.Attrs().Index)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), macvtapName), nil
}

// readNet reads a device's addresses and its permanent neighbours, which are the routers.
func readNet(links *netlink.Handle, link netlink.Link) (*vm.Net, error) {
	n := &vm.Net{MAC: link.Attrs().HardwareAddr, MTU: link.Attrs().MTU}
	addresses, err := links.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("listing the addresses of %s: %w", cellDevice, err)
	}
	for _, a := range addresses {
		prefix, ok := prefixOf(a.IPNet)
		if !ok || prefix.Addr().IsLinkLocalUnicast() {
			continue
		}
		n.Addresses = append(n.Addresses, prefix)
	}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		neighbours, err := links.NeighList(link.Attrs().Index, family)
		if err != nil {
			return nil, fmt.Errorf("listing the neighbours of %s: %w", cellDevice, err)
		}
		for _, one := range neighbours {
			if address, ok := addressOf(one.IP); ok && one.State&netlink.NUD_PERMANENT != 0 {
				n.Routers = append(n.Routers, vm.Router{Address: address, MAC: one.HardwareAddr})
			}
		}
	}
	return n, nil
}

func prefixOf(n *net.IPNet) (netip.Prefix, bool) {
	address, ok := addressOf(n.IP)
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(address, bits), ok
}

func addressOf(ip net.IP) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(ip)
	return a.Unmap(), ok
}
