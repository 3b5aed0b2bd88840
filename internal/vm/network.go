package vm

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
)

// device is the name of a guest's interface.
const device = "eth0"

// setUpNet sets the guest's addresses and routes.
func setUpNet(n *Net) error {
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("setting lo up: %w", err)
	}
	if n == nil {
		return nil
	}
	for _, s := range [][2]string{{"accept_dad", "0"}, {"accept_ra", "0"}, {"router_solicitations", "0"}} {
		// No router or neighbour answers there. A kernel without IPv6 lacks the files.
		path := "/proc/sys/net/ipv6/conf/" + device + "/" + s[0]
		if err := file.Set(path, s[1]); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("setting %s: %w", path, err)
		}
	}
	link, err := netlink.LinkByName(device)
	if err != nil {
		return fmt.Errorf("finding %s: %w", device, err)
	}
	if n.MTU > 0 {
		if err := netlink.LinkSetMTU(link, n.MTU); err != nil {
			return fmt.Errorf("setting the MTU to %d: %w", n.MTU, err)
		}
	}
	for _, prefix := range n.Addresses {
		if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: ipNet(prefix), Flags: unix.IFA_F_NODAD}); err != nil {
			return fmt.Errorf("adding address %s: %w", prefix, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting %s up: %w", device, err)
	}
	for _, r := range n.Routers {
		if err := route(link, r); err != nil {
			return fmt.Errorf("routing by %s: %w", r.Address, err)
		}
	}
	return nil
}

func route(link netlink.Link, r Router) error {
	family := unix.AF_INET
	all := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if r.Address.Is6() {
		family = unix.AF_INET6
		all = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	err := netlink.NeighSet(&netlink.Neigh{
		LinkIndex: link.Attrs().Index, Family: family, State: netlink.NUD_PERMANENT, IP: r.Address.AsSlice(),
		HardwareAddr: net.HardwareAddr(r.MAC),
	})
	if err != nil {
		return err
	}
	return netlink.RouteAdd(&netlink.Route{
		LinkIndex: link.Attrs().Index, Dst: ipNet(all), Gw: r.Address.AsSlice(), Flags: int(netlink.FLAG_ONLINK),
	})
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
