//go:build kernel

package engine

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"airtide/test/testnet"
)

// machine is a host outside: a namespace whose device leads to an interface in a namespace of its
// own, as a virtual machine's adapter leads to a TAP in the host's. It sends super-packets, asks by
// ARP and answers it.
type machine struct{ host, outer *namespace }

// outerName is the interface outside.
const outerName = "vm0"

// byVeth makes both at once.
func byVeth(t *testing.T, m machine) {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = device
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: outerName, PeerNamespace: netlink.NsFd(m.outer.ns)}
	if err := m.host.links.LinkAdd(veth); err != nil {
		t.Fatal(err)
	}
}

// byTAP makes a TAP outside and one inside, and passes frames from one to the other with their
// virtio headers, as qemu does between a TAP and its guest's adapter.
func byTAP(t *testing.T, m machine) {
	t.Helper()
	outer := openTAP(t, m.outer, outerName)
	inner := openTAP(t, m.host, device)
	pass := func(from, to *os.File) {
		frame := make([]byte, 1<<17)
		for {
			n, err := from.Read(frame)
			if err != nil {
				return // closed
			}
			_, _ = to.Write(frame[:n]) // to a device that is not up yet nothing goes
		}
	}
	go pass(outer, inner)
	go pass(inner, outer)
}

func openTAP(t *testing.T, n *namespace, name string) *os.File {
	t.Helper()
	var fd int
	err := n.do(func() (err error) {
		fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		request, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		return errors.Join(unix.IoctlIfreq(fd, unix.TUNSETIFF, request), setOffloads(fd, true))
	})
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), name)
	t.Cleanup(func() { f.Close() })
	link, err := n.links.LinkByName(name)
	if err == nil {
		err = n.links.LinkSetTxQLen(link, ringPackets)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newMachine(t *testing.T, joined func(*testing.T, machine)) machine {
	t.Helper()
	var m machine
	for name, n := range map[string]**namespace{"machine": &m.host, "outer": &m.outer} {
		made, err := newNamespace(fmt.Sprintf("airtide-test-%d-%s", os.Getpid(), name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(made.close)
		*n = made
	}
	joined(t, m)
	_ = m.outer.sysctl("ipv6/conf/"+outerName+"/disable_ipv6", "1")
	if err := m.host.sysctl("ipv6/conf/"+device+"/accept_dad", "0"); err != nil {
		t.Fatal(err)
	}
	for _, end := range []struct {
		n    *namespace
		name string
	}{{m.outer, outerName}, {m.host, device}} {
		link, err := end.n.links.LinkByName(end.name)
		if err == nil {
			err = end.n.links.LinkSetUp(link)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	link, err := m.host.links.LinkByName(device)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{"172.30.0.2/24", "fd99::2/64"} {
		addr, err := netlink.ParseAddr(a)
		if err == nil {
			addr.Flags = unix.IFA_F_NODAD
			err = m.host.links.AddrAdd(link, addr)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for all, via := range map[string]string{"0.0.0.0/0": "172.30.0.1", "::/0": "fd99::1"} {
		route := &netlink.Route{
			LinkIndex: link.Attrs().Index, Dst: ipNet(netip.MustParsePrefix(all)), Gw: net.ParseIP(via),
		}
		if err := m.host.links.RouteAdd(route); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestAnInterfaceOutside(t *testing.T) {
	for _, c := range []struct {
		kind     string
		joined   func(*testing.T, machine)
		station  int
		coalesce bool
	}{
		{"veth", byVeth, NoStation, false},
		{"veth", byVeth, NoStation, true},
		{"veth", byVeth, 1, false},
		{"veth", byVeth, 1, true},
		{"TAP", byTAP, NoStation, false},
		{"TAP", byTAP, 1, true},
	} {
		t.Run(fmt.Sprintf("%s, station %d, coalesced %v", c.kind, c.station, c.coalesce), func(t *testing.T) {
			m := newMachine(t, c.joined)
			anInterfaceOutside(t, m, c.station, c.coalesce)
		})
	}
}

func anInterfaceOutside(t *testing.T, m machine, station int, coalesce bool) {
	t.Helper()
	c := pair(lineConfig{DelayNs: 1e6})
	c.Coalesce = coalesce
	c.Ports = append(c.Ports, Port{
		Name: "machine", Kind: Outside, Station: station, Interface: outerName,
		Namespace: filepath.Join(namespaceFolder, m.outer.name),
		Addresses: []netip.Prefix{netip.MustParsePrefix("172.30.0.0/24"), netip.MustParsePrefix("fd99::/64")},
		Gateway:   []netip.Addr{netip.MustParseAddr("172.30.0.1"), netip.MustParseAddr("fd99::1")},
	})
	e := start(t, c)
	e.Ready.Namespaces["machine"] = m.host.name
	other := "station"
	address4 := "10.88.0.1"
	address6 := "fd88::1"
	if station != NoStation {
		other = "server"
		address4 = "10.88.1.1"
		address6 = "fd88:1::1"
	}
	for _, way := range [][3]string{
		{"machine", other, address4},
		{"machine", other, address6},
		{other, "machine", "172.30.0.2"},
		{other, "machine", "fd99::2"},
	} {
		client, server := connect(t, e, way[0], way[1], way[2])
		transfer(t, client, server, 10e6)
		transfer(t, server, client, 10e6)
		largest := 1500 - 28
		if strings.Contains(way[2], ":") {
			largest = 1500 - 48
		}
		if n := datagrams(t, e, way[0], way[1], way[2], largest, 40); n != 40 {
			t.Errorf("%d of 40 datagrams arrived at %s", n, way[2])
		}
	}
	p := status(t, e).port("machine")
	if p.Malformed+p.WriteFailed+p.KernelDropped > 0 || p.BytesIn > 1500*p.PacketsIn {
		t.Errorf("%+v", p)
	}
}

func TestHostsOutsideAreAskedFor(t *testing.T) {
	for kind, joined := range map[string]func(*testing.T, machine){"veth": byVeth, "TAP": byTAP} {
		t.Run(kind, func(t *testing.T) { hostsOutsideAreAskedFor(t, newMachine(t, joined)) })
	}
}

func hostsOutsideAreAskedFor(t *testing.T, m machine) {
	t.Helper()
	c := pair(lineConfig{})
	c.Ports = append(c.Ports, Port{
		Name: "machine", Kind: Outside, Station: NoStation, Interface: outerName,
		Namespace: filepath.Join(namespaceFolder, m.outer.name),
		Addresses: host("172.30.0.2", "fd99::2"),
	})
	e := start(t, c)
	e.Ready.Namespaces["machine"] = m.host.name
	sink(t, e, "machine")
	// Neither has the machine said anything nor does it know a router that exists; it answers by
	// ARP alone.
	for _, to := range []string{"172.30.0.2", "fd99::2"} {
		before := status(t, e).port("machine").PacketsOut
		testnet.Eventually(t, 5e9, "a packet to reach "+to, func() bool {
			in(t, e, "station", func() error { return sendUDP(to, 1) })
			return status(t, e).port("machine").PacketsOut > before
		})
	}
}
