package engine

import (
	"encoding/json"
	"net/netip"
)

func host(addresses ...string) (p []netip.Prefix) {
	for _, a := range addresses {
		addr := netip.MustParseAddr(a)
		p = append(p, netip.PrefixFrom(addr, addr.BitLen()))
	}
	return p
}

// pair is one station and one server with a line between them.
func pair(l lineConfig) Config {
	world, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	return Config{World: world, Ports: []Port{
		{Name: "station", Kind: Station, Station: 0, Addresses: host("10.88.0.1", "fd88::1")},
		{Name: "server", Kind: Server, Station: NoStation, Addresses: host("10.88.1.1", "fd88:1::1")},
	}}
}

func (s *Status) port(name string) PortStatus {
	for _, p := range s.Ports {
		if p.Name == name {
			return p
		}
	}
	return PortStatus{}
}
