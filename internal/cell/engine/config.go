package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Config holds the options of an engine.
type Config struct {
	Ports []Port `json:"ports"`
	// World is for the Builder.
	World json.RawMessage `json:"world,omitempty"`
	// Slots is how many packets can be under way at once, 2 KiB of locked memory each; 0 means
	// DefaultSlots. A line of 1 Gbit/s and 500 ms one way holds 43 000.
	Slots int `json:"slots,omitempty"`
	// Priority of the process under SCHED_RR; 0 means DefaultPriority, less than 0 leaves it an
	// ordinary process.
	Priority int `json:"priority,omitempty"`
	// LagLimit is how late 1 % of the deliveries may be, and a tenth of how late 0.1 % may be; 0
	// means DefaultLagLimit.
	LagLimit time.Duration `json:"lag_limit_ns,omitempty"`
	// Coalesce hands packets of one flow that leave at once over as one super-packet, as a
	// receiver's GRO would. It saves processor time above some 1 Gbit/s.
	Coalesce bool `json:"coalesce,omitempty"`
	// Supers reads offload-sized packets from senders and splits them in the engine instead of in
	// the kernel. The same packets enter the world, with less processor time.
	Supers bool `json:"supers,omitempty"`
	// Quantum is the shortest sleep. Events closer together than the quantum are handled together,
	// so the earlier events are late by up to the quantum. It saves wake-ups on a fast wire.
	Quantum time.Duration `json:"quantum_ns,omitempty"`
	// EndProcesses ends the processes in the hosts' namespaces at the engine's end, also if its
	// parent was killed. They would keep the namespaces.
	EndProcesses bool `json:"end_processes,omitempty"`
}

// Defaults for zero fields of Config.
const (
	// DefaultLagLimit is four times the time that it takes to deliver the 64 packets of an A-MPDU
	// one by one. Below this limit, rates do not depend on lateness (docs/design/decisions.md).
	DefaultLagLimit = 2 * time.Millisecond

	DefaultSlots    = 32768
	DefaultPriority = 10
	DefaultMTU      = 1500
)

// Kind is the way in which a port is attached.
type Kind string

// The kinds.
const (
	// Station is a namespace with a veth, read through macvtap, which pushes back on the sender.
	Station Kind = "station"
	// Server is a namespace with a TUN device.
	Server Kind = "server"
	// Outside is an interface that exists already.
	Outside Kind = "outside"
)

// Port is a host of the world, or an interface to hosts outside.
type Port struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Station is the host's station number in the world, or NoStation behind the wire. A Server has
	// none. A Station has one. An Outside interface may have one, since a virtual machine can be a
	// terminal.
	Station int `json:"station"`
	// Addresses are the host's own addresses (a /32 or a /128 each), or the subnets behind an
	// Outside interface.
	Addresses []netip.Prefix `json:"addresses"`
	// MTU in bytes; 0 means DefaultMTU.
	MTU int `json:"mtu,omitempty"`
	// Refuse makes the device of a Station refuse packets while the station's queue is full, which
	// TCP takes for congestion of the local device (code 2); without it a full queue blocks the
	// sender.
	Refuse bool `json:"refuse,omitempty"`

	// Interface is the name of an Outside interface in the network namespace with the path
	// Namespace. An empty path means the engine's own namespace.
	Interface string `json:"interface,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Gateway lists the router addresses that hosts outside may use. The engine answers for them.
	Gateway []netip.Addr `json:"gateway,omitempty"`
	// Via is the router outside through which the addresses are reached, at most one for each
	// family; without it they are on the link.
	Via []netip.Addr `json:"via,omitempty"`
}

func (p *Port) mtu() int {
	if p.MTU == 0 {
		return DefaultMTU
	}
	return p.MTU
}

// maxMTU is the largest IP packet that fits into a slot, in bytes.
const maxMTU = slotBytes - headroom

// check validates the configuration and fills in defaults.
func (c *Config) check() error {
	if len(c.Ports) == 0 {
		return errors.New("the cell has no hosts: name at least one port")
	}
	if c.Slots == 0 {
		c.Slots = DefaultSlots
	}
	if c.Slots < readBudget {
		return fmt.Errorf("%d slots for packets are too few: give at least %d", c.Slots, readBudget)
	}
	if c.LagLimit == 0 {
		c.LagLimit = DefaultLagLimit
	}
	names := map[string]bool{}
	stations := map[int]string{}
	for i := range c.Ports {
		p := &c.Ports[i]
		if err := p.check(); err != nil {
			return fmt.Errorf("port %q: %w", p.Name, err)
		}
		if names[p.Name] {
			return fmt.Errorf("two ports are named %q", p.Name)
		}
		names[p.Name] = true
		if other, taken := stations[p.Station]; taken && p.Station != NoStation {
			return fmt.Errorf("ports %q and %q are both station %d", other, p.Name, p.Station)
		}
		stations[p.Station] = p.Name
	}
	return nil
}

func (p *Port) check() error {
	if !validName(p.Name) {
		return errors.New("a name is 1 to 64 letters, digits, dots, dashes and underscores")
	}
	switch p.Kind {
	case Station, Server:
		for _, a := range p.Addresses {
			if !a.IsSingleIP() {
				return fmt.Errorf("%s is no host's address: write %s", a, netip.PrefixFrom(a.Addr(), a.Addr().BitLen()))
			}
		}
		if (p.Kind == Station) != (p.Station != NoStation) {
			return fmt.Errorf("a %s cannot have station number %d", p.Kind, p.Station)
		}
	case Outside:
		if p.Interface == "" {
			return errors.New("an outside port needs the name of an interface")
		}
	default:
		return fmt.Errorf("kind %q is unknown: use station, server or outside", p.Kind)
	}
	switch {
	case p.Station < NoStation:
		return fmt.Errorf("station number %d is negative", p.Station)
	case len(p.Addresses) == 0:
		return errors.New("it has no address, so nothing could be sent to it")
	case p.Refuse && p.Kind != Station:
		return errors.New("only a station's device can refuse packets")
	case p.mtu() < 576 || p.mtu() > maxMTU:
		return fmt.Errorf("an MTU of %d bytes is not within 576..%d", p.mtu(), maxMTU)
	}
	for _, a := range p.Addresses {
		if !a.IsValid() || a.Addr().Is4In6() {
			return fmt.Errorf("address %s is not valid", a)
		}
		if a.Addr().Is6() && p.mtu() < 1280 {
			return fmt.Errorf("IPv6 needs an MTU of at least 1280 bytes, not %d", p.mtu())
		}
	}
	return nil
}

func validName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}
