package vm

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
)

// Config configures a guest.
type Config struct {
	Kernel Kernel
	// Program is the file of this program for the guest; empty for this process's file. A guest of
	// another architecture needs a build for that architecture.
	Program string
	// Programs are files of the host that can run in the guest. They have the same paths there.
	Programs []string
	// Files are files of the host for the guest. The keys are their paths in the guest.
	Files map[string]string
	// Modules are kernel modules to load in addition to the modules of the guest's devices.
	Modules []string
	// MemoryMB is the memory of the guest; 0 means 512. CPUs is the number of its processors; 0
	// means 1.
	MemoryMB, CPUs int
	// Net is nil for a guest without a network.
	Net *Net
	// Accelerator is KVM or TCG. If it is empty, the guest uses KVM if it works, and emulation
	// otherwise.
	Accelerator Accelerator
	// Console, if not nil, receives the messages of the guest's kernel. Calls do not overlap.
	Console io.Writer
}

// Net is a guest's network: its interface eth0, and routers with known link addresses.
type Net struct {
	// Tap is a TAP or macvtap, opened for reading and writing, with a virtio header before each
	// frame. The caller closes it.
	Tap *os.File `json:"-"`
	// MAC is the interface's address.
	MAC       []byte         `json:"mac"`
	MTU       int            `json:"mtu"`
	Addresses []netip.Prefix `json:"addresses"`
	Routers   []Router       `json:"routers"`
}

// Router is the default router for its family of addresses.
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
		return fmt.Errorf("a guest cannot have %d MB of memory and %d processors", c.MemoryMB, c.CPUs)
	}
	if c.Net == nil {
		return nil
	}
	if c.Net.Tap == nil || len(c.Net.MAC) != ethernetAddress {
		return errors.New("a guest's network needs a TAP and an Ethernet address")
	}
	return nil
}
