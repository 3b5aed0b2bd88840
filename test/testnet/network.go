package testnet

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/leftover"
	"airtide/internal/sys/namespace"
)

// Options say what kind of network to make.
type Options struct {
	// Segments turns segmentation and checksum offloads off on both devices, so that every segment
	// is a packet of its own. Delays and reordering need it.
	Segments bool
	// MTU of the veth in bytes; 0 means 1500.
	MTU int
}

// Network is two hosts joined by a veth.
type Network struct {
	Client, Server *Host
	tb             testing.TB
	options        Options
}

const (
	namespaceFolder = namespace.Folder
	namePrefix      = "airtide-test-"
	device          = "eth0"
)

var networks atomic.Uint32

// New makes a network that lasts until the test ends.
func New(tb testing.TB, o Options) *Network {
	tb.Helper()
	leftover.Remove(namespaceFolder, namePrefix, leftover.Ended, namespace.Remove)
	n := &Network{tb: tb, options: o}
	owner := leftover.Owner(os.Getpid())
	number := networks.Add(1)
	var err error
	n.Client, err = newHost(tb, fmt.Sprintf("%s%s-%d-client", namePrefix, owner, number))
	if err != nil {
		tb.Fatal(err)
	}
	n.Server, err = newHost(tb, fmt.Sprintf("%s%s-%d-server", namePrefix, owner, number))
	if err != nil {
		tb.Fatal(err)
	}
	n.Client.V4 = netip.MustParseAddr("10.77.0.1")
	n.Server.V4 = netip.MustParseAddr("10.77.0.2")
	n.Client.V6 = netip.MustParseAddr("fd77::1")
	n.Server.V6 = netip.MustParseAddr("fd77::2")
	if err := n.join(); err != nil {
		tb.Fatal(err)
	}
	// IPv6 begins when the kernel's link watch has seen the carrier, which may take a second.
	Eventually(tb, 5*time.Second, "the link to come up", func() bool { return n.Client.linkUp() && n.Server.linkUp() })
	n.Client.Out = newPath(tb, n.Client, n.Server, o.Segments)
	n.Server.Out = newPath(tb, n.Server, n.Client, o.Segments)
	return n
}

// join makes the veth and brings both ends up.
func (n *Network) join() error {
	mtu := n.options.MTU
	if mtu == 0 {
		mtu = 1500
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = device
	attrs.MTU = mtu
	err := n.Client.links.LinkAdd(&netlink.Veth{
		LinkAttrs: attrs, PeerName: device, PeerMTU: uint32(mtu), PeerNamespace: netlink.NsFd(n.Server.ns),
	})
	if err != nil {
		return fmt.Errorf("making veth: %w", err)
	}
	for _, h := range []*Host{n.Client, n.Server} {
		if err := h.bringUp(); err != nil {
			return fmt.Errorf("configuring %s: %w", h.Name, err)
		}
		if n.options.Segments {
			if err := h.Do(func() error { return disableOffloads(device) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func newHost(tb testing.TB, name string) (*Host, error) {
	path := filepath.Join(namespaceFolder, name)
	handle, err := namespace.Create(name)
	if err != nil {
		return nil, fmt.Errorf("making network namespace %s (root is needed): %w", name, err)
	}
	h := &Host{Name: name, ns: handle}
	tb.Cleanup(func() {
		_ = h.ns.Close()
		_ = namespace.Remove(path)
	})
	var stat unix.Stat_t
	if err := unix.Fstat(int(h.ns), &stat); err != nil {
		return nil, fmt.Errorf("reading inode of namespace %s: %w", name, err)
	}
	h.NetNS = uint32(stat.Ino)
	h.links, err = netlink.NewHandleAt(h.ns, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("opening netlink in %s: %w", name, err)
	}
	tb.Cleanup(h.links.Close)
	return h, nil
}
