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
	"airtide/internal/vm"
)

const (
	// cellDevice is what a machine of the cell calls its interface, overlay what is put on it for a guest.
	cellDevice = "eth0"
	overlay    = "guest0"
	// overlayPackets is how many packets wait for a guest that does not look: as many as for the cell's own devices.
	overlayPackets = 8192
)

// place puts a macvtap on the device of a namespace, which takes over all that comes in there, and reads what a guest needs
// to be in the namespace's place. What the guest sends leaves by the device, and waits there as the namespace's own packets
// do. The macvtap ends with the namespace.
func place(namespace string) (n *vm.Net, err error) {
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
		if n, err = readNet(links, link); err != nil {
			return err
		}
		n.Tap, err = overlayOn(links, link)
		return err
	})
	return n, err
}

func overlayOn(links *netlink.Handle, link netlink.Link) (*os.File, error) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.ParentIndex, attrs.TxQLen = overlay, link.Attrs().Index, overlayPackets
	err := links.LinkAdd(&netlink.Macvtap{Macvlan: netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_PASSTHRU}})
	if err != nil {
		return nil, fmt.Errorf("making a macvtap (the kernel needs CONFIG_MACVTAP): %w", err)
	}
	tap, err := links.LinkByName(overlay)
	if err != nil {
		return nil, fmt.Errorf("finding the macvtap: %w", err)
	}
	// The namespace itself is to be silent.
	for _, device := range []string{overlay, cellDevice} {
		err := os.WriteFile("/proc/sys/net/ipv6/conf/"+device+"/disable_ipv6", []byte("1"), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("silencing %s: %w", device, err)
		}
	}
	if err := links.LinkSetUp(tap); err != nil {
		return nil, fmt.Errorf("setting the macvtap up: %w", err)
	}
	fd, err := engine.OpenMacvtap(overlay, tap.Attrs().Index)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), overlay), nil
}

// readNet reads a device's addresses, and the routers beyond it that need not be asked for.
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
