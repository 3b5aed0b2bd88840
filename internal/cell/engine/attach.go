package engine

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	named "airtide/internal/sys/namespace"
)

const (
	// device is the interface name inside a host's namespace.
	device = "eth0"
	// ringPackets is the ring size of a TUN device or a tap, in packets. It has to hold all packets
	// that arrive between two reads of the engine. A station's ring is also bounded by the sender's
	// socket buffer.
	ringPackets = 8192
)

// The addresses that hosts know the engine by, as their router.
var (
	gateway4 = netip.MustParseAddr("169.254.0.1")
	gateway6 = netip.MustParseAddr("fe80::1")
)

// network is everything that the engine has made in the kernel.
type network struct {
	pid    int
	air    *namespace
	hosts  map[string]*namespace
	ports  []*port
	undo   []func() // the last first
	supers bool
}

// newNetwork creates the hosts and their devices, and opens the interfaces outside.
func newNetwork(c *Config) (*network, error) {
	n := &network{pid: os.Getpid(), hosts: map[string]*namespace{}, supers: c.Supers}
	for i := range c.Ports {
		p := &port{Port: c.Ports[i], index: i, fd: -1, router: n.mac(0, i), host: n.mac(1, i)}
		n.ports = append(n.ports, p)
		if err := n.attach(p); err != nil {
			n.close()
			return nil, fmt.Errorf("attaching port %q: %w", p.Name, err)
		}
	}
	for _, p := range n.ports {
		if err := n.awaitLink(p); err != nil {
			n.close()
			return nil, err
		}
	}
	return n, nil
}

// mac returns a locally administered address that is unique for the engine, the port and the end.
func (n *network) mac(end, index int) mac {
	return mac{0x02 | byte(end)<<2, 'a', byte(n.pid >> 16), byte(n.pid >> 8), byte(n.pid), byte(index)}
}

// endProcesses ends the processes in the hosts' namespaces.
func (n *network) endProcesses() error {
	var paths []string
	for _, host := range n.hosts {
		paths = append(paths, filepath.Join(namespaceFolder, host.name))
	}
	return named.EndProcesses(paths)
}

func (n *network) close() {
	for i := len(n.undo) - 1; i >= 0; i-- {
		n.undo[i]()
	}
	n.undo = nil
}

// undone has f called when the network is closed.
func (n *network) undone(f func()) { n.undo = append(n.undo, f) }

func (n *network) attach(p *port) (err error) {
	if p.Kind == Outside {
		return n.attachOutside(p)
	}
	host, err := n.namespace(p.Name)
	if err != nil {
		return err
	}
	n.hosts[p.Name] = host
	if p.Kind == Server {
		err = n.attachServer(p, host)
	} else {
		err = n.attachStation(p, host)
	}
	if err != nil {
		return err
	}
	return n.configure(p, host)
}

func (n *network) namespace(name string) (*namespace, error) {
	made, err := newNamespace(namespaceName(n.pid, name))
	if err == nil {
		n.undone(made.close)
	}
	return made, err
}

// attachServer makes a TUN device in the host's namespace.
func (n *network) attachServer(p *port, host *namespace) error {
	return host.do(func() (err error) {
		p.fd, err = openTUN(device)
		if err != nil {
			return err
		}
		return errors.Join(n.prepare(p), n.countLosses(p, device, "tx_dropped"))
	})
}

// prepare prepares a port after its descriptor was opened.
func (n *network) prepare(p *port) error {
	n.undone(func() { _ = unix.Close(p.fd) })
	p.super = n.supers
	return setOffloads(p.fd, n.supers)
}

// attachStation creates a veth pair. One end is the host's device, the other end carries a macvtap.
func (n *network) attachStation(p *port, host *namespace) (err error) {
	if n.air == nil {
		n.air, err = n.namespace(airName)
		if err != nil {
			return err
		}
	}
	far := fmt.Sprintf("far%d", p.index)
	attrs := netlink.NewLinkAttrs()
	attrs.Name = device
	attrs.MTU = p.mtu()
	attrs.HardwareAddr = net.HardwareAddr(p.host[:])
	err = host.links.LinkAdd(&netlink.Veth{
		LinkAttrs: attrs, PeerName: far, PeerMTU: uint32(p.mtu()), PeerNamespace: netlink.NsFd(n.air.ns),
	})
	if err != nil {
		return fmt.Errorf("making a veth: %w", err)
	}
	peer, err := n.air.links.LinkByName(far)
	if err != nil {
		return fmt.Errorf("finding the far end of the veth: %w", err)
	}
	_ = n.air.sysctl("ipv6/conf/"+far+"/disable_ipv6", "1") // there may be no IPv6
	if err := n.air.links.LinkSetUp(peer); err != nil {
		return fmt.Errorf("setting the far end of the veth up: %w", err)
	}
	name := fmt.Sprintf("tap%d", p.index)
	attrs = netlink.NewLinkAttrs()
	attrs.ParentIndex = peer.Attrs().Index
	attrs.Name = name
	attrs.TxQLen = ringPackets
	err = n.air.links.LinkAdd(
		&netlink.Macvtap{Macvlan: netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_PASSTHRU}},
	)
	if err != nil {
		return fmt.Errorf("making a macvtap (the kernel needs CONFIG_MACVTAP): %w", err)
	}
	tap, err := n.air.links.LinkByName(name)
	if err != nil {
		return fmt.Errorf("finding the macvtap: %w", err)
	}
	_ = n.air.sysctl("ipv6/conf/"+name+"/disable_ipv6", "1")
	if err := n.air.links.LinkSetUp(tap); err != nil {
		return fmt.Errorf("setting the macvtap up: %w", err)
	}
	p.ether = etherBytes
	return n.air.do(func() (err error) {
		p.fd, err = OpenMacvtap(name, tap.Attrs().Index)
		if err != nil {
			return err
		}
		return errors.Join(n.prepare(p), keepOrder(far, p.index), n.countLosses(p, far, "rx_dropped"),
			n.countLosses(p, name, "rx_dropped"))
	})
}

// configure gives the host its addresses and its way out.
func (n *network) configure(p *port, host *namespace) error {
	for _, s := range [][2]string{
		{"accept_dad", "0"}, {"accept_ra", "0"}, {"router_solicitations", "0"}, {"addr_gen_mode", "1"},
	} {
		// The cell carries no multicast: a host can neither find a router nor detect a duplicate
		// address. The sysctls do not exist in a kernel without IPv6.
		if err := host.sysctl("ipv6/conf/"+device+"/"+s[0], s[1]); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("setting %s: %w", s[0], err)
		}
	}
	lo, err := host.links.LinkByName("lo")
	if err == nil {
		err = host.links.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("setting lo up: %w", err)
	}
	link, err := host.links.LinkByName(device)
	if err != nil {
		return fmt.Errorf("finding %s: %w", device, err)
	}
	if p.Kind == Server {
		err = errors.Join(host.links.LinkSetMTU(link, p.mtu()), host.links.LinkSetTxQLen(link, ringPackets))
		if err != nil {
			return fmt.Errorf("setting up %s: %w", device, err)
		}
	}
	for _, prefix := range p.Addresses {
		addr := &netlink.Addr{IPNet: ipNet(prefix), Flags: unix.IFA_F_NODAD}
		if err := host.links.AddrAdd(link, addr); err != nil {
			return fmt.Errorf("adding address %s: %w", prefix, err)
		}
	}
	if err := host.links.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting %s up: %w", device, err)
	}
	if err := n.route(p, host, link); err != nil {
		return err
	}
	if p.Refuse {
		return host.do(func() (err error) {
			p.credit, err = attachCredit(host.links, link.Attrs().Index)
			if err == nil {
				n.undone(p.credit.close)
			}
			return err
		})
	}
	return nil
}

// route sends everything to the engine: through a router that needs no asking for, or straight into
// a TUN device.
func (n *network) route(p *port, host *namespace, link netlink.Link) error {
	for _, v6 := range []bool{false, true} {
		if !p.has(v6) {
			continue
		}
		family := unix.AF_INET
		gateway := gateway4
		all := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if v6 {
			family = unix.AF_INET6
			gateway = gateway6
			all = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(all)}
		if p.Kind == Station {
			neigh := &netlink.Neigh{
				LinkIndex: link.Attrs().Index, Family: family, State: netlink.NUD_PERMANENT,
				IP: gateway.AsSlice(), HardwareAddr: net.HardwareAddr(p.router[:]),
			}
			if err := host.links.NeighSet(neigh); err != nil {
				return fmt.Errorf("adding neighbour %s: %w", gateway, err)
			}
			route.Gw = gateway.AsSlice()
			route.Flags = int(netlink.FLAG_ONLINK)
		}
		if err := host.links.RouteAdd(route); err != nil {
			return fmt.Errorf("adding the default route: %w", err)
		}
	}
	return nil
}

func (p *Port) has(v6 bool) bool {
	for _, a := range p.Addresses {
		if a.Addr().Is6() == v6 {
			return true
		}
	}
	return false
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// awaitLink waits until a station's device has seen its carrier, before which IPv6 does not send.
func (n *network) awaitLink(p *port) error {
	if p.Kind != Station {
		return nil
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		link, err := n.hosts[p.Name].links.LinkByName(device)
		if err == nil && link.Attrs().OperState == netlink.OperUp {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("port %q: its device did not come up within 10 s", p.Name)
		}
	}
}
