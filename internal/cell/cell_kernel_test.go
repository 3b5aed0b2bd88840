//go:build kernel

package cell

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"airtide/test/need"
)

func TestStoppedCellLeavesNothing(t *testing.T) {
	need.Root(t)
	c, err := Start(t.Context(), twoStations())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	<-c.Ended()
	for _, h := range c.Hosts() {
		if _, err := os.Stat(filepath.Join("/run/netns", h.Namespace)); err == nil {
			t.Errorf("namespace %s of %s is still there", h.Namespace, h.Name)
		}
	}
	if _, err := c.Status(); err == nil {
		t.Error("a stopped cell has a status")
	}
}

func TestOutsideInterfacesTakePart(t *testing.T) {
	need.Root(t)
	// A machine outside, behind an interface of this namespace.
	machine := fmt.Sprintf("cell-outside-%d", os.Getpid())
	ip := func(arguments ...string) {
		t.Helper()
		if out, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", strings.Join(arguments, " "), err, out)
		}
	}
	ip("netns", "add", machine)
	t.Cleanup(func() { ip("netns", "del", machine) })
	here := fmt.Sprintf("co%d", os.Getpid())
	ip("link", "add", here, "type", "veth", "peer", "name", "there", "netns", machine)
	ip("link", "set", here, "up")
	ip("-n", machine, "address", "add", "192.168.77.2/24", "dev", "there")
	ip("-n", machine, "link", "set", "there", "up")
	ip("-n", machine, "route", "add", "default", "via", "192.168.77.1")

	config := twoStations()
	config.Terminals[1].Outside = &Outside{
		Interface: here, Addresses: []netip.Prefix{netip.MustParsePrefix("192.168.77.0/24")},
		Gateway: []netip.Addr{netip.MustParseAddr("192.168.77.1")},
	}
	c := start(t, config)
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	if h := c.host(t, "two"); h.Namespace != "" {
		t.Errorf("an interface outside has the namespace %q", h.Namespace)
	}
	c.pings(t, "server", "-c", "1", "-w", "5", "192.168.77.2") // teaches the access point the machine's station
	if times := c.pings(t, "server", "-c", "5", "-i", "0.05", "192.168.77.2"); len(times) != 5 {
		t.Errorf("%d of 5 pings came back from outside", len(times))
	}
	two := c.status(t).Terminals[1]
	if two.Up.DeliveredPackets < 5 || two.Down.DeliveredPackets < 5 {
		t.Errorf("%d packets up and %d down over the medium, want 5 and more", two.Up.DeliveredPackets,
			two.Down.DeliveredPackets)
	}
}
