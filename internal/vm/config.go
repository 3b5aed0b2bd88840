package vm

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
)

// Config says what a guest is.
type Config struct {
	Kernel Kernel
	// Program is the file of this program as the guest runs it; empty for this process's own. A
	// guest of another architecture needs one that was built for it.
	Program string
	// Programs of the host that can be run in the guest, by their files; they have the same paths
	// there.
	Programs []string
	// Files of the host that the guest has, by their paths in the guest.
	Files map[string]string
	// Modules of the kernel to be loaded, besides those of the guest's devices.
	Modules []string
	// MemoryMB is its memory; 0 means 512. CPUs is its processors; 0 means 1.
	MemoryMB, CPUs int
	// Net is nil for a guest without a network.
	Net *Net
	// Accelerator is empty for KVM where it works, and emulation elsewhere.
	Accelerator Accelerator
	// Console, if not nil, gets what the guest's kernel prints. One call is over before the next
	// begins.
	Console io.Writer
}

// Net is a guest's network: its interface eth0, and the way out by routers that it need not ask
// for.
type Net struct {
	// Tap is a TAP or macvtap opened for reading and writing, with a virtio header in front of
	// frames. It stays the caller's to close.
	Tap *os.File `json:"-"`
	// MAC is the interface's address.
	MAC       []byte         `json:"mac"`
	MTU       int            `json:"mtu"`
	Addresses []netip.Prefix `json:"addresses"`
	Routers   []Router       `json:"routers"`
}

// Router is the way to everywhere, for its family of addresses.
type Router struct {
	Address netip.Addr `json:"address"`
	MAC     []byte     `json:"mac"`
}

const (
	defaultMemoryMB = 512
	ethernetAddress = 6
)

func (c *Config) check() error {
	if c.Kernel.Image == "" || c.Kernel.Modules == "" {
		return errors.New("a guest needs a kernel: see Fetch")
	}
	if c.MemoryMB == 0 {
		c.MemoryMB = defaultMemoryMB
	}
	if c.CPUs == 0 {
		c.CPUs = 1
	}
	if c.MemoryMB < 0 || c.CPUs < 0 {
		return fmt.Errorf("a guest with %d MB of memory and %d processors cannot be", c.MemoryMB, c.CPUs)
	}
	if c.Net == nil {
		return nil
	}
	if c.Net.Tap == nil || len(c.Net.MAC) != ethernetAddress {
		return errors.New("a guest's network needs a TAP and an Ethernet address")
	}
	return nil
}
