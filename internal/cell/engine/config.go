package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Config is what an engine is started with.
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
	// Supers reads what senders offload as super-packets and splits them here instead of in the
	// kernel: the same packets enter the world, at less cost.
	Supers bool `json:"supers,omitempty"`
	// Quantum is the shortest sleep: events closer together than that are handled together, the
	// earlier ones late by up to the quantum. It saves wake-ups where every packet of a fast wire
	// is an event of its own.
	Quantum time.Duration `json:"quantum_ns,omitempty"`
}

// What stands for zero in Config.
const (
	// DefaultLagLimit is two of what it takes to hand over the 64 packets of an A-MPDU one by one.
	// Rates do not depend on lateness below it (docs/design/architecture.md).
	DefaultLagLimit = 2 * time.Millisecond

	DefaultSlots    = 32768
	DefaultPriority = 10
	DefaultMTU      = 1500
)

// Kind says how a port is attached.
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
	// Station is the number that the world knows the host by, or NoStation for one behind the wire.
	// A Server has none, a Station must have one, an interface Outside may: a virtual machine can
	// be a terminal.
	Station int `json:"station"`
	// Addresses are the host's own (a /32 or a /128 each); of an interface Outside those that lie
	// behind it.
	Addresses []netip.Prefix `json:"addresses"`
	// MTU in bytes; 0 means DefaultMTU.
	MTU int `json:"mtu,omitempty"`
	// Refuse makes the device of a Station refuse packets while the station's queue is full, which
	// TCP takes for congestion of the local device (code 2); without it a full queue blocks the
	// sender.
	Refuse bool `json:"refuse,omitempty"`

	// Interface outside, in the network namespace whose path is Namespace, "" for the engine's own.
	Interface string `json:"interface,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Gateway addresses are those that hosts outside may use as their router; the engine answers
	// for them.
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

// maxMTU is what a slot takes.
const maxMTU = slotBytes - headroom

// check says what is wrong with the configuration, and fills in what was left out.
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
	names, stations := map[string]bool{}, map[int]string{}
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
