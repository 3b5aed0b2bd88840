package cell

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"airtide/internal/cell/engine"
)

// Cell is a cell that runs.
type Cell struct {
	engine *engine.Engine
	hosts  []Host
}

// Host is a terminal or a server of a running cell.
type Host struct {
	Name     string `json:"name"`
	Terminal bool   `json:"terminal"`
	// Namespace is its network namespace's name under /run/netns, empty for an interface outside.
	Namespace string `json:"namespace,omitempty"`
	// Address and Address6 are its addresses; of an interface outside, the first one behind it that
	// is a host's.
	Address  netip.Addr `json:"address,omitzero"`
	Address6 netip.Addr `json:"address6,omitzero"`
}

// Start makes the namespaces, gives them addresses and starts the engine: packets flow from then
// on. Terminals have 10.1.0.1, 10.1.0.2 and so on in the order of the configuration, servers
// 10.2.0.1 and so on; the same in IPv6 with fd0a:1:: and fd0a:2::. The cell ends with this process,
// also when the process is killed.
func Start(ctx context.Context, c Config) (*Cell, error) {
	// The configuration is checked before the engine starts, so that a mistake is reported without
	// root.
	if _, err := NewWorld(c, engine.Callbacks{}); err != nil {
		return nil, err
	}
	world, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encoding the cell: %w", err)
	}
	o := c.Engine
	e, err := engine.Start(ctx, engine.Config{
		Ports: c.enginePorts(), World: world, Slots: o.Slots, Priority: o.Priority, LagLimit: o.LagLimit,
		Coalesce: o.Coalesce, Supers: o.Supers, Quantum: o.Quantum, EndProcesses: o.EndProcesses,
	})
	if err != nil {
		return nil, err
	}
	return &Cell{engine: e, hosts: c.hosts(e.Ready.Namespaces)}, nil
}

// address is a host's of a kind, 1 for terminals and 2 for servers.
func address(kind byte, i int) (v4, v6 netip.Addr) {
	i++
	return netip.AddrFrom4([4]byte{10, kind, byte(i >> 8), byte(i)}),
		netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x0a, 3: kind, 14: byte(i >> 8), 15: byte(i)})
}

// Kinds of hosts, in their addresses.
const (
	terminalKind = 1
	serverKind   = 2
)

// enginePorts are the terminals, then the servers.
func (c *Config) enginePorts() []engine.Port {
	order, _ := c.stations()
	var ports []engine.Port
	for i, t := range c.Terminals {
		p := enginePort(t.Name, engine.Station, t.Outside, t.MTU, terminalKind, i)
		p.Station = order[i]
		p.Refuse = t.Refuse
		ports = append(ports, p)
	}
	for i, s := range c.Servers {
		p := enginePort(s.Name, engine.Server, s.Outside, s.MTU, serverKind, i)
		p.Station = engine.NoStation
		ports = append(ports, p)
	}
	return ports
}

// leastMTU6 is the least that IPv6 works with (RFC 8200 section 5).
const leastMTU6 = 1280

func enginePort(name string, kind engine.Kind, outside *Outside, mtu int, addresses byte, i int) engine.Port {
	if outside != nil {
		return engine.Port{
			Name: name, Kind: engine.Outside, MTU: mtu, Interface: outside.Interface, Addresses: outside.Addresses,
			Gateway: outside.Gateway, Via: outside.Via,
		}
	}
	v4, v6 := address(addresses, i)
	p := engine.Port{Name: name, Kind: kind, MTU: mtu, Addresses: []netip.Prefix{netip.PrefixFrom(v4, 32)}}
	if mtu == 0 || mtu >= leastMTU6 {
		p.Addresses = append(p.Addresses, netip.PrefixFrom(v6, 128))
	}
	return p
}

func (c *Config) hosts(namespaces map[string]string) []Host {
	var hosts []Host
	for i, p := range c.enginePorts() {
		h := Host{Name: p.Name, Terminal: i < len(c.Terminals), Namespace: namespaces[p.Name]}
		for _, a := range p.Addresses {
			switch {
			case !a.IsSingleIP():
			case a.Addr().Is4() && !h.Address.IsValid():
				h.Address = a.Addr()
			case a.Addr().Is6() && !h.Address6.IsValid():
				h.Address6 = a.Addr()
			}
		}
		hosts = append(hosts, h)
	}
	return hosts
}

// Hosts are the terminals, then the servers, in the order of the configuration.
func (c *Cell) Hosts() []Host { return c.hosts }

// Warnings lists the features that the kernel refused and that the engine runs without.
func (c *Cell) Warnings() []string { return c.engine.Ready.Warnings }

// Begin is time zero of the run: schedules and all counters start. The engine takes statuses at the
// given times, in order, even while this process waits for a processor. TakenStatus returns them.
func (c *Cell) Begin(statuses ...time.Duration) error {
	if err := c.engine.Begin(statuses...); err != nil {
		return fmt.Errorf("beginning the cell's run: %w", err)
	}
	return nil
}

// Status returns the counters of the cell since Begin.
func (c *Cell) Status() (*Status, error) { return decode(c.engine.Status()) }

// TakenStatus returns the next status that Begin scheduled, or nil if its time has not come.
func (c *Cell) TakenStatus() (*Status, error) { return decode(c.engine.TakenStatus()) }

func decode(e *engine.Status, err error) (*Status, error) {
	if err != nil {
		return nil, fmt.Errorf("asking for the cell's status: %w", err)
	}
	if e == nil {
		return nil, nil
	}
	s := &Status{}
	if err := json.Unmarshal(e.World, s); err != nil {
		return nil, fmt.Errorf("decoding the cell's status: %w", err)
	}
	s.Engine = &EngineStatus{
		BeginNs: e.BeginNs, Lag: e.Lag, LagLimitNs: e.LagLimitNs, LagExceeded: e.LagExceeded, Wake: e.Wake,
		Turn:  e.Turn,
		CPUNs: e.CPUNs, Slots: e.Slots, SlotsLow: e.SlotsLow, Exhausted: e.Exhausted, Warnings: e.Warnings,
	}
	// The engine's ports are in the order of the configuration: terminals, then servers.
	for i := range s.Terminals {
		s.Terminals[i].Port = e.Ports[i].PortCounts
	}
	s.Engine.Servers = e.Ports[len(s.Terminals):]
	return s, nil
}

// Ended is closed after the engine's process has ended.
func (c *Cell) Ended() <-chan struct{} { return c.engine.Ended() }

// Stop ends the cell with its namespaces.
func (c *Cell) Stop() error { return c.engine.Stop() }
